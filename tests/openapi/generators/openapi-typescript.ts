import createClient from 'openapi-fetch';
import type { paths } from './made/openapi-typescript';
import {
  type Calls,
  creation,
  EMAIL_INDEX,
  present,
  type Key,
  type User,
} from './tour';

export function calls(baseUrl: string): Calls {
  const client = createClient<paths>({ baseUrl });
  const put = (key: Key, value: User) =>
    client.PUT('/kv', {
      params: { query: { key: JSON.stringify(key) } },
      body: value,
    });
  return {
    async declareEmailIndex() {
      const { response } = await client.POST('/indexes', {
        body: EMAIL_INDEX,
      });
      return response.status;
    },
    async put(key, value) {
      const { data, error } = await put(key, value);
      const result = present(data, error) as { versionstamp: string };
      return result.versionstamp;
    },
    async get(key) {
      const { data, error } = await client.GET('/kv', {
        params: { query: { key: JSON.stringify(key) } },
      });
      return present(data, error) as User;
    },
    async getByEmail(email) {
      const { data, error } = await client.GET('/indexes/{name}/get/{key}', {
        params: { path: { name: 'users_by_email', key: email } },
      });
      return present(data, error) as User;
    },
    async list(prefix, limit, cursor) {
      const { data, error } = await client.GET('/list', {
        params: {
          query: {
            prefix: JSON.stringify(prefix),
            limit,
            cursor: cursor ?? undefined,
          },
        },
      });
      const page = present(data, error);
      if (typeof page === 'string') throw new Error(`text: ${page}`);
      return {
        keys: page.entries.map((entry) => entry.key as Key),
        cursor: page.cursor,
      };
    },
    async create(key, value) {
      const { data, response } = await client.POST('/atomic', {
        body: creation(key, value),
      });
      if (data === undefined && response.status !== 409) {
        throw new Error(`status ${response.status}`);
      }
      return data !== undefined;
    },
    async refusal(key, value) {
      const { error, response } = await put(key, value);
      return { status: response.status, code: error?.code ?? '' };
    },
    async remove(key) {
      const { response } = await client.DELETE('/kv', {
        params: { query: { key: JSON.stringify(key) } },
      });
      return response.status;
    },
  };
}
