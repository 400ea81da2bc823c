// What the compiler must accept: each adapter is what its project takes.
import type { SecondaryStorage } from '@better-auth/core/db';
import session from 'express-session';
import { Keyv } from 'keyv';
import { connect } from 'kindex';
import { kindexStorage } from 'kindex-adapters/better-auth';
import { KindexStore } from 'kindex-adapters/express-session';
import { KeyvKindex } from 'kindex-adapters/keyv';
import { kindexDriver } from 'kindex-adapters/unstorage';
import { createStorage } from 'unstorage';

const db = connect('http://127.0.0.1:4512');
export const storage = createStorage({ driver: kindexDriver({ db, ttl: 60 }) });
export const keyv = new Keyv({ store: new KeyvKindex({ db, prefix: ['cache', 1] }) });
export const secondaryStorage: SecondaryStorage = kindexStorage({ url: 'http://k', token: 't' });
export const middleware = session({ store: new KindexStore({ db }), secret: 's' });
// @ts-expect-error neither a client nor an address
kindexStorage({ prefix: ['a'] });
