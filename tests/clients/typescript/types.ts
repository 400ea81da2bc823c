// What the compiler must accept, and what it must refuse, of a program that uses
// the client.
import { connect, type StandardSchema } from 'kindex';

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
  const commit = await db.atomic().sum(['n'], 1, { return: 'new' }).commit();
  if (commit.ok) return [name, email, commit.versionstamp];
  // @ts-expect-error a commit that failed has none
  return commit.versionstamp;
}
