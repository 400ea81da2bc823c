import type { Entry, MaybeEntry } from "./atomic.js";
import type {
  AddOptions,
  Aggregate,
  CountOptions,
  GetOptions,
  IndexDeclaration,
  Kindex,
  ListOptions,
  PutOptions,
} from "./client.js";
import type { CallOptions } from "./http.js";
import { ExactNumber } from "./json.js";
import {
  ADD,
  CALL,
  checkArray,
  checkObject,
  checkOptions,
  COLLECTION,
  COUNT,
  INDEX,
  LIST_OF,
  PUT,
} from "./options.js";
import { type Key, type KeyPart, kindOf, toKey } from "./values.js";

/** What a library such as Zod, Valibot or ArkType provides (standardschema.dev). */
export interface StandardSchema<T = any> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<T> | Promise<SchemaResult<T>>;
    readonly types?: { readonly input: unknown; readonly output: T };
  };
}
type SchemaResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A value that its schema refuses, before it is sent. */
export class InvalidValueError extends TypeError {
  constructor(readonly issues: readonly { readonly message: string }[]) {
    super(issues.map(({ message }) => message).join("; "));
    this.name = "InvalidValueError";
  }
}

/** What is at a JSON Pointer, the part of the key with this number, or, as the last, the
 * versionstamp. */
export type IndexField =
  | { versionstamp: true }
  | (
    & { fold?: "none" | "lower" | "casefold"; each?: boolean; order?: "asc" | "desc" }
    & ({ path: string } | { key: number })
  );

/** Totals of the entries that have equal fields. */
export interface Totals {
  aggregate: {
    count?: true;
    /** JSON Pointers of numbers; `scale` is how many decimals a sum has. */
    sum?: readonly (string | { path: string; scale?: number })[];
  };
}

export interface IndexOptions {
  /** JSON Pointers, or fields with other settings. Only totals can do without. */
  fields?: readonly (string | IndexField)[];
  unique?: boolean;
  /** Of all fields that are written as JSON Pointers. */
  fold?: "none" | "lower" | "casefold";
  store?: "pointer" | "value" | { fields: readonly string[] } | Totals;
  where?: object | readonly object[];
  missing?: "skip" | "error" | "null";
  /** How long an index of changes keeps removals, such as "7d". */
  tombstones?: string;
  /** Jobs can be claimed from the index. */
  queue?: { lease?: string; retries?: readonly string[]; dead?: Key };
  /** Only keys with so many parts after the prefix. */
  depth?: number;
  /** Take over entries under the index's name that an application has maintained. */
  adopt?: boolean;
}
export type Indexes = Record<string, IndexOptions>;
export interface CollectionOptions<I extends Indexes> {
  /** The keys begin with these parts, in place of the name. */
  prefix?: Key;
  schema?: StandardSchema;
  /** Each is a member of the collection, and the index `<collection>_by_email`. */
  indexes?: I;
}
/** One or more parts of the key after the prefix. */
export type Id = KeyPart | Key;

export type CollectionOf<T, I extends Indexes> =
  & Collection<T>
  & { readonly [name in keyof I]: IndexOf<T> };

type ListOf = Omit<ListOptions, "prefix" | "index">;

const UPDATES_MAX = 100;

const isTotals = ({ store }: IndexOptions) =>
  typeof store === "object" && store !== null && "aggregate" in store;
const parts = (id: Id): Key => Array.isArray(id) ? id : [id as KeyPart];
const snake = (name: string) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

export class Collection<T> {
  readonly declarations: readonly IndexDeclaration[];
  readonly #db: Kindex;
  readonly #prefix: Key;
  readonly #schema?: StandardSchema;

  /** @internal */
  constructor(db: Kindex, name: string, options: CollectionOptions<Indexes>) {
    if (typeof name !== "string") throw new TypeError(`name is ${kindOf(name)}, not a string`);
    checkOptions(options, COLLECTION);
    if (options.prefix !== undefined) toKey(options.prefix, "prefix");
    if (options.indexes !== undefined) checkObject(options.indexes, "indexes");
    this.#db = db;
    this.#prefix = options.prefix ?? [name];
    this.#schema = options.schema;
    this.declarations = Object.entries(options.indexes ?? {}).map(([member, index]) => {
      if (member in this) throw new TypeError(`${member} cannot name an index`);
      checkObject(index, `indexes.${member}`);
      const { fold, fields = isTotals(index) ? [] : undefined, ...rest } = index;
      checkArray(fields, `indexes.${member}.fields`);
      checkOptions(index, INDEX, `indexes.${member}`);
      const declaration = {
        ...rest,
        fields: fields!.map((field) =>
          typeof field === "string" ? { path: field, fold } : field
        ),
        name: `${name}_${snake(member)}`,
        prefix: this.#prefix,
      };
      Object.defineProperty(this, member, {
        enumerable: true,
        value: new IndexOf<T>(db, this, declaration),
      });
      return declaration;
    });
  }

  /** The key of the entry with this id. */
  key(id: Id): Key {
    return [...this.#prefix, ...parts(id)];
  }

  /** The value as it is stored: what the schema makes of it. */
  async validate(value: T): Promise<T> {
    const result = await this.#schema?.["~standard"].validate(value);
    if (!result) return value;
    if (result.issues) throw new InvalidValueError(result.issues);
    return result.value;
  }

  get(id: Id, options?: GetOptions): Promise<MaybeEntry<T>> {
    return this.#db.get<T>(this.key(id), options);
  }

  getMany(ids: readonly Id[], options?: GetOptions): Promise<MaybeEntry<T>[]> {
    checkArray(ids, "ids");
    return this.#db.getMany<T>(ids.map((id) => this.key(id)), options);
  }

  /** Returns the versionstamp, or null if the entry has another version. */
  async put(id: Id, value: T, options?: PutOptions): Promise<string | null> {
    return await this.#db.put(this.key(id), await this.validate(value), options);
  }

  /** Stores it under a new last part of the key, by which entries are in order. */
  async add(value: T, options?: AddOptions): Promise<{ key: Key; versionstamp: string }> {
    return await this.#db.add(this.#prefix, await this.validate(value), options);
  }

  /** Stores it only if there is no entry; null if there is. */
  create(id: Id, value: T, options?: PutOptions): Promise<string | null> {
    return this.put(id, value, { ...options, versionstamp: null });
  }

  /** Replaces the value by what `change` makes of it, again if it was changed meanwhile. */
  async update(
    id: Id,
    change: (value: T | null) => T | Promise<T>,
    options?: PutOptions,
  ): Promise<Entry<T>> {
    checkOptions(options, PUT);
    const { signal } = options ?? {};
    for (let i = 0; i < UPDATES_MAX; i++) {
      const { key, value, versionstamp } = await this.get(id, { signal });
      const next = await this.validate(await change(value));
      const ttl = options?.ttl ?? (options?.expiresAt ? undefined : "keep");
      const stamp = await this.#db.put(key, next, { ...options, ttl, versionstamp });
      if (stamp !== null) return { key, value: next, versionstamp: stamp };
    }
    throw new Error(`${JSON.stringify(id)} was changed ${UPDATES_MAX} times meanwhile`);
  }

  delete(id: Id, options?: CallOptions): Promise<MaybeEntry<T>> {
    return this.#db.delete<T>(this.key(id), options);
  }

  list(options?: ListOf): AsyncGenerator<Entry<T>> {
    checkOptions(options, LIST_OF);
    return this.#db.list<T>({ ...options, prefix: this.#prefix });
  }

  count(options?: CountOptions): Promise<number> {
    checkOptions(options, COUNT);
    return this.#db.count({ ...options, prefix: this.#prefix });
  }

  /** As Kindex.watchPrefix. */
  watch(options?: CallOptions) {
    return this.#db.watchPrefix<T>(this.#prefix, options);
  }
}

/** An index of a collection; values are those of its fields, in their order. */
export class IndexOf<T> {
  readonly #db: Kindex;
  readonly #collection: Collection<T>;
  readonly #declaration: IndexDeclaration;

  /** @internal */
  constructor(db: Kindex, collection: Collection<T>, declaration: IndexDeclaration) {
    this.#db = db;
    this.#collection = collection;
    this.#declaration = declaration;
  }

  get name(): string {
    return this.#declaration.name;
  }

  /** The first entry that has the values, or null. */
  get(values: Id, options?: GetOptions): Promise<Entry<T> | null> {
    return this.#db.getByIndex<T>(this.name, parts(values), options);
  }

  /** The entries whose first fields have these values, in the order of the index. */
  list(values: Id = [], options?: ListOf): AsyncGenerator<Entry<T>> {
    checkOptions(options, LIST_OF);
    toKey(parts(values), "values");
    const { name: index } = this;
    return this.#db.list<T>({ ...options, index, prefix: parts(values) });
  }

  count(values: Id = [], options?: CountOptions): Promise<number> {
    checkOptions(options, COUNT);
    toKey(parts(values), "values");
    return this.#db.count({ ...options, index: this.name, prefix: parts(values) });
  }

  /** The totals of all entries whose first fields have these values. */
  aggregate(values: Id = [], options?: CallOptions): Promise<Aggregate> {
    checkOptions(options, CALL);
    toKey(parts(values), "values");
    return this.#db.aggregate(this.name, { ...options, prefix: parts(values) });
  }

  /**
   * Replaces the entry that has the values of this one, whatever its key, or makes
   * one with this id; the service finds it while it commits. For unique indexes.
   */
  async upsert(id: Id, value: T, options?: AddOptions): Promise<string> {
    checkOptions(options, ADD);
    const valid = await this.#collection.validate(value);
    const values = this.#declaration.fields!.map((field) => valueAt(valid, field));
    const create = this.#collection.key(id);
    return await this.#db.putByIndex(this.name, values, valid, { ...options, create });
  }
}

function valueAt(value: unknown, field: string | IndexField): KeyPart {
  const path = typeof field === "string" ? field : "path" in field ? field.path : "";
  const found = path.split("/").slice(1)
    .map((name) => name.replace(/~1/g, "/").replace(/~0/g, "~"))
    .reduce((at: any, name) => at?.[name], value);
  if (found === undefined || found === null) {
    throw new TypeError(`the value has nothing at ${path || JSON.stringify(field)}`);
  }
  // The numbers of an index are doubles, also those of an entry with more digits.
  return found instanceof ExactNumber ? found.toNumber() : found as KeyPart;
}
