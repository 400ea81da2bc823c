import { fromKey, type Key } from "./values.js";

/** A check that failed: its number, and the version that was found. */
export interface FailedCheck {
  check: number;
  key?: Key;
  actual: string | null;
  [member: string]: unknown;
}

/**
 * What the service answered in place of a result, with all members of its problem
 * document (RFC 9457). `code` is stable; `GET /problems/{code}` explains it. Without
 * an answer, `code` is `no-answer` and `status` 0. An answer that is not the service's,
 * such as a redirect or a page of a proxy, or that is too large or too slow, has the
 * same code and its own status.
 */
export class KindexError extends Error {
  readonly code: string;
  readonly status: number;
  /** What to do. */
  readonly hint?: string;
  /** unique-violation, index-...: the index concerned. */
  readonly index?: string;
  /** unique-violation: the field values that are in use. */
  readonly value?: Key;
  /** unique-violation: the key of the entry that has the value. */
  readonly existingKey?: Key;
  /** unique-violation, not-indexable: the key of the entry that was refused. */
  readonly attemptedKey?: Key;
  /** The key concerned. */
  readonly key?: Key;
  /** Number of the mutation concerned, from 0. */
  readonly mutation?: number;
  /** check-failed: every check that failed. */
  readonly failedChecks?: FailedCheck[];
  /** All other members, as they came. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    problem: Record<string, unknown>,
    options?: ErrorOptions,
  ) {
    super(String(problem.detail ?? problem.title ?? `status ${status}`), options);
    this.name = "KindexError";
    this.status = status;
    this.code = String(problem.code ?? "no-answer");
    this.problem = problem;
    this.hint = problem.hint as string;
    this.index = problem.index as string;
    this.mutation = problem.mutation as number;
    for (const name of ["value", "existingKey", "attemptedKey", "key"] as const) {
      const parts = problem[name];
      if (Array.isArray(parts)) this[name] = fromKey(parts);
    }
    this.failedChecks = (problem.failedChecks as FailedCheck[])?.map((check) => ({
      ...check,
      key: check.key && fromKey(check.key),
    }));
  }
}
