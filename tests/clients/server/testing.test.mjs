// The store that kindexForTests makes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'kindex';
import { kindexForTests } from 'kindex-server';

test('a test has an empty store, which is gone after close', async () => {
  const first = await kindexForTests({ args: ['--cache', '16MiB'], retries: 0 });
  const second = await kindexForTests();
  try {
    await first.db.put(['mine'], 1);
    assert.equal((await first.db.get(['mine'])).value, 1);
    assert.equal((await second.db.get(['mine'])).value, null);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
  await assert.rejects(connect(first.url, { retries: 0 }).get(['mine']), { code: 'no-answer' });
});

test('a server that does not start says why', async () => {
  await assert.rejects(kindexForTests({ args: ['--no-such-option'] }), /did not start: .*no-such-option/s);
  await assert.rejects(kindexForTests({ program: '/none/kindex' }), /ENOENT/);
});

test('an unknown option is an error before a server starts', async () => {
  await assert.rejects(kindexForTests({ program: '/none/kindex', arg: [] }), /^TypeError: .*no member arg/);
  await assert.rejects(kindexForTests({ program: '/none/kindex', args: 'x' }), TypeError);
});
