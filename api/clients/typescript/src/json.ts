// JSON whose numbers keep their digits. JSON.parse makes doubles of them, and so 1.1 of
// 1.10, which is the same number, but also 12345678901234567000 of 12345678901234567891.

/**
 * A number that `Number` would change, as the decimal text that is stored:
 * 12345678901234567891, or more fractional digits than a double holds. It is written
 * back as it is. Arithmetic with it is a TypeError: `String(n)`, `BigInt(String(n))` and
 * `n.toNumber()`, which rounds, say what is meant.
 */
export class ExactNumber {
  constructor(readonly text: string) {
    if (typeof text !== "string" || !NUMBER.test(text)) {
      throw new TypeError(`${JSON.stringify(text)} is not the text of a JSON number`);
    }
    if (!Number.isFinite(Number(text))) {
      throw new RangeError(`${text} is beyond the numbers that can be stored`);
    }
  }

  toString(): string {
    return this.text;
  }

  /** The nearest double. */
  toNumber(): number {
    return Number(this.text);
  }

  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.text;
    throw new TypeError(`${this.text} would lose digits as a number`);
  }

  /** For JSON.stringify, where the runtime has JSON.rawJSON; stringifyJson needs none. */
  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    if (rawJSON) return rawJSON(this.text);
    throw new TypeError(`JSON.stringify would round ${this.text}: use stringifyJson`);
  }
}

/** @internal JSON that is text already. */
export class JsonText {
  constructor(readonly text: string) {}
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
// A decimal of so many digits, and without an exponent, survives as a double.
const DIGITS_KEPT = 15;
// Finds a number that may not survive, in few texts one within a string instead.
const SUSPECT = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]+[eE])/;

/** The digits of a number without zeros at the ends, and the power of ten of the last. */
function decimalOf(text: string): string {
  const [, sign, whole, fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!;
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  if (end === 0) return "0";
  const last = Number(power) - fraction.length + digits.length - end;
  return `${sign}${digits.slice(0, end)}e${last}`;
}

function isExact(text: string): boolean {
  if (text.length <= DIGITS_KEPT && !/e/i.test(text)) return true;
  return decimalOf(text) === decimalOf(String(Number(text)));
}

/** Where the string that begins at `open` ends. */
function stringEnd(text: string, open: number): number {
  for (let at = open;;) {
    const quote = text.indexOf('"', at + 1);
    if (quote < 0) return text.length;
    let first = quote;
    while (text[first - 1] === "\\") first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    at = quote;
  }
}

/** The text with each number changed; numbers in strings are none. */
function mapNumbers(text: string, change: (number: string) => string): string {
  let changed = "";
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const open = quote < 0 ? text.length : quote;
    changed += text.slice(at, open).replace(/-?\d[\d.eE+-]*/g, change);
    at = quote < 0 ? open : stringEnd(text, open);
    changed += text.slice(open, at);
  }
  return changed;
}

/** As JSON.parse, but a number that it would change becomes an ExactNumber. */
export function parseJson(text: string): any {
  if (!SUSPECT.test(text)) return JSON.parse(text);
  // A name that no string of the text can have by intention.
  const mark = `${Math.random()}:`;
  let marked = false;
  const changed = mapNumbers(text, (number) => {
    // What is no JSON number is left to the SyntaxError of JSON.parse.
    if (!NUMBER.test(number) || !Number.isFinite(Number(number)) || isExact(number)) {
      return number;
    }
    marked = true;
    return `"${mark}${number}"`;
  });
  if (!marked) return JSON.parse(text);
  return JSON.parse(changed, (_, value) =>
    typeof value === "string" && value.startsWith(mark)
      ? new ExactNumber(value.slice(mark.length))
      : value);
}

const isBoxed = (value: unknown) =>
  value instanceof Number || value instanceof String || value instanceof Boolean;

function stringify(value: any, name: string): string | undefined {
  if (value instanceof ExactNumber || value instanceof JsonText) return value.text;
  if (typeof value?.toJSON === "function") value = value.toJSON(name);
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null || isBoxed(value)) {
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    const elements = Array.from(value, (element, i) => stringify(element, `${i}`) ?? "null");
    return `[${elements.join()}]`;
  }
  const members = Object.entries(value).flatMap(([member, of]) => {
    const text = stringify(of, member);
    return text === undefined ? [] : [`${JSON.stringify(member)}:${text}`];
  });
  return `{${members.join()}}`;
}

/** As JSON.stringify, but an ExactNumber is written with its digits, and -0 as -0. */
export function stringifyJson(value: unknown): string {
  return stringify(value, "") as string;
}
