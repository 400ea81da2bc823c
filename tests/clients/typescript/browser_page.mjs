// What a page does with the client.
import { connect, ExactNumber, KindexError } from '/client/index.js';

function same(found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${a}, not ${b}`);
}

export async function tour(base) {
  const db = connect(base);
  const users = db.collection('users', {
    indexes: { byEmail: { fields: ['/email'], unique: true, fold: 'lower' } },
  });
  await db.applyIndexes();
  await users.put('ada', { email: 'Ada@x.org' });
  same((await users.byEmail.get('ada@x.org')).key, ['users', 'ada']);
  const bytes = new Uint8Array([1, 255]);
  await db.put(['bytes', 1n], bytes);
  const entry = await db.get(['bytes', 1n]);
  same([...entry.value], [1, 255]);
  same(entry.key[1] === 1n, true);
  const value = { id: new ExactNumber('12345678901234567891'), map: [new Map([[1, new Error('m')]])] };
  await db.put(['exact'], value.id);
  same(String((await db.get(['exact'])).value), '12345678901234567891');
  await db.put(['map'], value.map);
  same((await db.get(['map'])).value[0].get(1).message, 'm');
  const moved = await connect(`${location.origin}/moved`).get(['a']).catch((e) => e);
  same([moved.code, moved.message], ['no-answer', 'the answer 3xx sends the request on to another address']);
  const events = db.watch([['w']]);
  same((await events.next()).value[0].value, null);
  await db.atomic().sum(['w'], 2).commit();
  same((await events.next()).value[0].value, 2);
  await events.return();
  const refused = await users.create('bob', { email: 'ada@x.org' }).catch((e) => e);
  same([refused instanceof KindexError, refused.code], [true, 'unique-violation']);
}
