import * as api from './made/orval';
import {
  type Calls,
  creation,
  EMAIL_INDEX,
  type Key,
  type User,
} from './tour';

// A body that may be JSON or anything else is sent without a type by this
// generator, and fetch then calls it text.
const JSON_BODY = { headers: { 'Content-Type': 'application/json' } };

export function calls(baseUrl: string): Calls {
  const local = globalThis.fetch;
  // The generated code has no base address: it asks for paths.
  globalThis.fetch = (path, init) => local(new URL(String(path), baseUrl), init);
  const put = (key: Key, value: User) =>
    api.putEntryByQuery(value, { key: JSON.stringify(key) }, JSON_BODY);
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
      const result = answer.data as api.CommitResult;
      return result.versionstamp ?? '';
    },
    async get(key) {
      const answer = await api.getEntryByQuery({ key: JSON.stringify(key) });
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      return answer.data as User;
    },
    async getByEmail(email) {
      const answer = await api.getByIndex('users_by_email', email);
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      return answer.data as User;
    },
    async list(prefix, limit, cursor) {
      const answer = await api.listEntries({
        prefix: JSON.stringify(prefix),
        limit,
        cursor: cursor ?? undefined,
      });
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      // A list may be NDJSON as well, so this generator leaves reading it to us.
      const { stream } = answer as { stream: Response };
      const page: api.Page = await stream.json();
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
      const answer = await api.deleteEntryByQuery({ key: JSON.stringify(key) });
      return answer.status;
    },
  };
}
