import { type FailedCheck, KindexError } from "./error.js";
import type { CallOptions, Transport } from "./http.js";
import type { ExactNumber } from "./json.js";
import {
  BY,
  CALL,
  checkArray,
  checkObject,
  checkOptions,
  type Members,
  MUTATION,
  RETURNS,
  SET,
  SUM,
} from "./options.js";
import { type Receipt, receiptsOf } from "./queue.js";
import {
  fromKey,
  fromStored,
  type Key,
  KvU64,
  type Stored,
  toJson,
  toKey,
  toStored,
} from "./values.js";

/** An entry; null in place of value and versionstamp: no entry has the key. */
export type Entry<T> = {
  key: Key;
  value: T;
  versionstamp: string;
  /** Unix time in milliseconds; left out if it does not expire. */
  expiresAt?: number;
  /** Of a read with `expand`: the entry to which the value refers at each path. */
  expanded?: Record<string, Entry<unknown> | null>;
};
export type MaybeEntry<T> =
  | Entry<T>
  | { key: Key; value: null; versionstamp: null; expiresAt?: undefined; expanded?: undefined };

/** An entry by its value in a unique index, in place of its key. */
export interface By {
  index: string;
  value: Key;
}
export type Target = Key | By;

/** Comparisons with what is at a JSON Pointer, all of which must be true. */
export type Comparison =
  & { path: string; in?: unknown[]; exists?: boolean }
  & { [operator in "eq" | "ne" | "gt" | "ge" | "lt" | "le"]?: unknown };

/** What must hold before the commit, of an entry or of all entries under a prefix. */
export type Check =
  | { of: Target; versionstamp: string | null }
  | { of: Target; exists: boolean }
  | { of: Target; atMost: string }
  | { of: Target; where: Comparison | Comparison[] }
  | { prefix: Key; none: true }
  | { prefix: Key; atMost: string };

export interface MutationOptions {
  /** Such as `30m`; `keep` and `none` for `set`. */
  ttl?: string;
  /** Unix time in milliseconds. */
  expiresAt?: number;
  /** Which entries get the time: each, new ones, or those that have none. */
  ttlOf?: "always" | "new" | "keep";
  /** The entry before or after the commit is in the results. */
  returns?: "old" | "new";
}
export interface SetOptions extends MutationOptions {
  /** One more part of the key: the versionstamp of the commit. */
  suffix?: "versionstamp";
}
/** What a sum, min or max combines. */
export type Summand = number | bigint | KvU64 | ExactNumber;

export interface SumOptions extends MutationOptions {
  min?: Summand;
  max?: Summand;
  /** What becomes of a sum beyond its bounds. */
  out?: "refuse" | "clamp" | "skip";
}

export type Result = (MaybeEntry<unknown> & { skipped?: true }) | { skipped: true };
export type Commit =
  | { ok: true; versionstamp: string; results: (Result | null)[] }
  | { ok: false; failedChecks: FailedCheck[] };
export type DryRun =
  | { ok: true; results: (Result | null)[] }
  | { ok: false; failedChecks: FailedCheck[] };

type WireEntry = Stored & {
  key: unknown[];
  versionstamp: string | null;
  expiresAt?: number;
  expanded?: Record<string, WireEntry | null>;
};

/** @internal */
export function toEntry<T>(wire: WireEntry): MaybeEntry<T> {
  const { key, value, typed, expanded, ...rest } = wire;
  const referred = Object.entries(expanded ?? {})
    .map(([path, entry]) => [path, entry && toEntry(entry)]);
  return {
    ...rest,
    ...(expanded && { expanded: Object.fromEntries(referred) }),
    key: fromKey(key),
    value: fromStored({ value, typed }),
  } as MaybeEntry<T>;
}

function target(of: Target, argument = "of"): object {
  if (typeof of !== "object" || of === null || Array.isArray(of)) {
    return { key: toKey(of as Key, argument) };
  }
  const by = of as By;
  checkOptions(by, BY, argument);
  return { by: { index: by.index, value: toKey(by.value, `${argument}.value`) } };
}

/** @internal A value where only one is asked for: a bound, or what is compared. */
export function toOperand(value: unknown): unknown {
  const stored = toStored(value);
  return stored.typed ?? stored.value;
}

// Members that are none of these are left to the service, which refuses them.
function toComparison({ in: values, ...rest }: { in?: unknown[] }): object {
  const operands = Object.entries(rest).map(([name, v]) => [name, toOperand(v)]);
  return { in: values?.map(toOperand), ...Object.fromEntries(operands) };
}

/** @internal */
export function toWhere(where: object | object[]): object[] {
  return [where].flat().map((one) => {
    checkObject(one, "where");
    return toComparison(one);
  });
}

function toCheck(check: Check, i: number): object {
  checkObject(check, `checks[${i}]`);
  if ("prefix" in check) {
    return { ...check, prefix: toKey(check.prefix, `checks[${i}].prefix`) };
  }
  const { of, ...rest } = check;
  const found = target(of, `checks[${i}].of`);
  if (!("where" in rest)) return { ...found, ...rest };
  const { where, ...others } = rest;
  return { ...found, ...others, where: toWhere(where) };
}

/** Checks and mutations that are done together, or not at all. */
export class Atomic {
  readonly #transport: Transport;
  readonly #checks: object[] = [];
  readonly #mutations: object[] = [];
  readonly #acks: string[] = [];

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Acknowledges jobs of queues in this commit. */
  ack(...receipts: Receipt[]): this {
    this.#acks.push(...receiptsOf(receipts));
    return this;
  }

  check(...checks: Check[]): this {
    this.#checks.push(...checks.map(toCheck));
    return this;
  }

  #add<T extends object>(
    type: string,
    of: Target,
    members: object,
    options: T | undefined,
    known: Members<T>,
  ): this {
    checkOptions(options, known);
    const { returns, ...rest } = (options ?? {}) as { returns?: string };
    this.#mutations.push({ type, ...target(of), ...members, ...rest, return: returns });
    return this;
  }

  set(of: Target, value: unknown, options?: SetOptions): this {
    return this.#add("set", of, toStored(value), options, SET);
  }

  delete(of: Target, options?: Pick<MutationOptions, "returns">): this {
    return this.#add("delete", of, {}, options, RETURNS);
  }

  /** A merge patch (RFC 7396): members replace members, null removes one. */
  patch(of: Target, patch: unknown, options?: MutationOptions): this {
    return this.#add("patch", of, toStored(patch), options, MUTATION);
  }

  /** Operations of a JSON Patch (RFC 6902), and those that the service adds. */
  operations(of: Target, ops: object[], options?: MutationOptions): this {
    checkArray(ops, "ops");
    return this.#add("patch", of, { ops: toJson(ops, "ops") }, options, MUTATION);
  }

  /** Adds to a number, a bigint or a KvU64 of the same type. */
  sum(of: Target, amount: Summand, options: SumOptions = {}): this {
    checkOptions(options, SUM);
    const { min, max, ...rest } = options;
    const bounds = {
      ...min !== undefined && { min: toOperand(min) },
      ...max !== undefined && { max: toOperand(max) },
    };
    return this.#add("sum", of, { ...toStored(amount), ...bounds }, rest, SUM as Members<typeof rest>);
  }

  min(of: Target, value: Summand, options?: MutationOptions): this {
    return this.#add("min", of, toStored(value), options, MUTATION);
  }

  max(of: Target, value: Summand, options?: MutationOptions): this {
    return this.#add("max", of, toStored(value), options, MUTATION);
  }

  /** Changes when the entry expires, and nothing else. */
  touch(of: Target, options: MutationOptions): this {
    return this.#add("touch", of, {}, options, MUTATION);
  }

  /** @internal A check as requests have it. */
  checkWire(check: object): void {
    this.#checks.push(check);
  }

  /** Resolves when the commit is on disk. Throws for all but a failed check. */
  async commit(options?: CallOptions): Promise<Commit> {
    return await this.#settled(this.send(options));
  }

  /** What a commit would answer now; nothing is changed, and there is no versionstamp. */
  async dryRun(options?: CallOptions): Promise<DryRun> {
    return await this.#settled(this.send(options, true));
  }

  async #settled(sent: Promise<Commit>): Promise<Commit> {
    try {
      return await sent;
    } catch (error) {
      if (error instanceof KindexError && error.code === "check-failed") {
        return { ok: false, failedChecks: error.failedChecks ?? [] };
      }
      throw error;
    }
  }

  /** @internal Throws for a failed check, too. */
  async send(options?: CallOptions, dry?: true): Promise<Commit> {
    checkOptions(options, CALL);
    const answer = await this.#transport.json<
      { versionstamp: string; results?: (WireEntry | null)[] }
    >({
      ...options,
      method: "POST",
      path: "/atomic",
      body: {
        ack: this.#acks.length ? this.#acks : undefined,
        checks: this.#checks,
        mutations: this.#mutations,
        dry,
      },
      writes: !dry,
    });
    const results = answer.results ?? this.#mutations.map(() => null);
    return {
      ok: true,
      versionstamp: answer.versionstamp,
      results: results.map((result) =>
        result && (result.key ? toEntry(result) : result as Result)
      ),
    };
  }
}
