// What the compiler must accept, and what it must refuse, of a program that uses
// the client.
import { connect, ExactNumber, type Key, Media, parseJson, type StandardSchema, Typed } from 'kindex';

type User = { name: string; email: string };

const db = connect('http://127.0.0.1:4512');

export async function accepted(schema: StandardSchema<User>) {
  const users = db.collection<User>('users', {
    indexes: { byEmail: { fields: ['/email'], unique: true, fold: 'lower' } },
  });
  const entry = await users.byEmail.get('ada@x.org');
  const name: string | undefined = entry?.value.name;
  const strict = db.collection('users', {
    schema,
    indexes: { byEmail: { fields: ['/email'], unique: true } },
  });
  const found = await strict.byEmail.get('ada@x.org');
  const email: string | undefined = found?.value.email;
  // @ts-expect-error an index that is not declared
  await strict.byName.get('Ada');
  // @ts-expect-error a value of another type
  await strict.put('ada', { name: 1 });
  // @ts-expect-error an object is no part of a key
  await db.get(['users', {}]);
  // @ts-expect-error a member that no list has
  db.list({ prefix: ['users'], filter: [] });
  const adults = db.list<User>({ prefix: ['users'], where: { path: '/age', ge: 18 } });
  for await (const { value } of adults) await db.put(['adults', value.name], value);
  const orders = db.collection<{ total: number }>('orders', {
    indexes: { totals: { store: { aggregate: { sum: [{ path: '/total', scale: 2 }, '/n'] } } } },
  });
  const { sum, count }: { sum?: Record<string, string>; count: number } = await orders.totals.aggregate();
  await db.put(['sums', count], sum);
  // @ts-expect-error a sum is text, exact
  const rounded: number = sum?.['/total'];
  // @ts-expect-error a store that there is not
  db.collection('orders', { indexes: { byTotal: { fields: ['/total'], store: 'copy' } } });
  await db.put(['sums', 'rounded'], rounded);
  // @ts-expect-error an exact number is no part of a key
  const key: Key = ['users', new ExactNumber('12345678901234567891')];
  const account = await db.get<{ id: number | ExactNumber }>(['accounts', 1]);
  // @ts-expect-error an exact number is no operand
  const more: number = 1 + (account.value?.id ?? 0);
  const digits: string = String(account.value?.id);
  await db.atomic().sum(['n'], new ExactNumber('1e3'), { max: 10 }).commit();
  const bytes: Uint8Array = new Media([1, 2], 'image/png');
  const whole: Typed = new Typed({ type: 'V8', value: '_w8w' });
  await db.put(['all'], parseJson('[1]'));
  await db.put(['all'], [key, more, digits, bytes, whole]);
  const commit = await db.atomic().sum(['n'], 1, { returns: 'new' }).commit();
  if (commit.ok) return [name, email, commit.versionstamp];
  // @ts-expect-error a commit that failed has none
  return commit.versionstamp;
}
