import * as api from './made/api';
import {
  type Calls,
  creation,
  EMAIL_INDEX,
  type Key,
  type User,
} from './tour';

export function calls(baseUrl: string): Calls {
  api.defaults.baseUrl = baseUrl;
  const put = (key: Key, value: User) =>
    api.putEntryByQuery(JSON.stringify(key), value);
  return {
    async declareEmailIndex() {
      const answer = await api.declareIndex(EMAIL_INDEX);
      return answer.status;
    },
    async put(key, value) {
      const answer = await put(key, value);
      if (answer.status !== 200 && answer.status !== 201) {
        throw new Error(`status ${answer.status}`);
      }
      return answer.data.versionstamp ?? '';
    },
    async get(key) {
      const answer = await api.getEntryByQuery(JSON.stringify(key));
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      return answer.data;
    },
    async getByEmail(email) {
      const answer = await api.getByIndex('users_by_email', email);
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      return answer.data;
    },
    async list(prefix, limit, cursor) {
      const answer = await api.listEntries({
        prefix: JSON.stringify(prefix),
        limit,
        cursor: cursor ?? undefined,
      });
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      const page = answer.data as api.Page;
      return {
        keys: page.entries.map((entry) => entry.key as Key),
        cursor: page.cursor,
      };
    },
    async create(key, value) {
      const answer = await api.commitAtomic(creation(key, value));
      if (answer.status !== 200 && answer.status !== 409) {
        throw new Error(`status ${answer.status}`);
      }
      return answer.status === 200;
    },
    async refusal(key, value) {
      const answer = await put(key, value);
      if (answer.status !== 409) throw new Error(`status ${answer.status}`);
      return { status: answer.status, code: answer.data.code };
    },
    async remove(key) {
      const answer = await api.deleteEntryByQuery(JSON.stringify(key));
      return answer.status;
    },
  };
}
