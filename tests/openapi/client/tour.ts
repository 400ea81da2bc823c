// What a program does with a generated client; calls.ts implements the calls with the
// code that the generator makes.

export type Part = string | number | boolean;
export type Key = Part[];
export type User = { name: string; email: string };

export type Page = { keys: Key[]; cursor: string | null };
export type Failure = { status: number; code: string };

export interface Calls {
  declareEmailIndex(): Promise<number>; // the status
  put(key: Key, value: User): Promise<string>; // the versionstamp
  get(key: Key): Promise<User>;
  getByEmail(email: string): Promise<User>;
  list(prefix: Key, limit: number, cursor: string | null): Promise<Page>;
  // Stores a value if no entry has the key. False: the check failed.
  create(key: Key, value: User): Promise<boolean>;
  // What a put is refused with.
  refusal(key: Key, value: User): Promise<Failure>;
  remove(key: Key): Promise<number>; // the status
}

export const EMAIL_INDEX = {
  name: 'users_by_email',
  prefix: ['users'],
  fields: [{ path: '/email', fold: 'lower' as const }],
  unique: true,
};

// Stores a value if no entry has the key.
export function creation(key: Key, value: User) {
  return {
    checks: [{ key, versionstamp: null }],
    mutations: [{ type: 'set' as const, key, value }],
  };
}

// What an answer has, unless it is an error.
export function present<T>(data: T | undefined, error: unknown): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

function same(what: string, found: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a}, not ${b}`);
}

export async function tour(calls: Calls): Promise<void> {
  const ada = { name: 'Ada', email: 'Ada@x.org' };
  const bob = { name: 'Bob', email: 'bob@x.org' };
  const adaKey: Key = ['users', 'a/b c?'];
  const bobKey: Key = ['users', 7, true];

  same('a new index', await calls.declareEmailIndex(), 201);
  same('the same index', await calls.declareEmailIndex(), 200);
  const first = await calls.put(adaKey, ada);
  const second = await calls.put(adaKey, ada);
  if (!/^[0-9a-f]{20}$/.test(first) || second <= first) {
    throw new Error(`versionstamps ${first}, ${second}`);
  }
  same('a value', await calls.get(adaKey), ada);
  same('a value by its index', await calls.getByEmail('ADA@x.org'), ada);
  same('a new entry', await calls.create(bobKey, bob), true);
  same('an entry that is there', await calls.create(bobKey, bob), false);
  same(
    'a value that another entry has',
    await calls.refusal(['users', 'c'], ada),
    { status: 409, code: 'unique-violation' },
  );
  const page = await calls.list(['users'], 1, null);
  same('a page', page.keys, [adaKey]);
  const next = await calls.list(['users'], 1, page.cursor);
  same('the next page', next, { keys: [bobKey], cursor: null });
  same('a removal', await calls.remove(adaKey), 204);
}
