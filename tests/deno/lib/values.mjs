// Values of every kind that structured cloning knows, and how Kindex shows them
// over REST: written from the description in openapi.yaml, not from its code.
import { Buffer } from 'node:buffer';

const bytes = (...list) => new Uint8Array(list);

function withProperties(array, properties) {
  return Object.assign(array, properties);
}

function circular() {
  const object = { name: 'c', list: [] };
  object.list.push(object);
  return object;
}

function shared() {
  const one = { x: 1 };
  return [one, one];
}

function failure(type, message, stack, options) {
  const error = new type(message, options);
  error.stack = stack;
  return error;
}

// `views` of one buffer, and what refers to them.
function views() {
  const { buffer } = bytes(1, 2, 3, 4);
  const view = new Uint8Array(buffer, 0, 2);
  return { view, other: new Uint16Array(buffer), again: view, end: { view } };
}

export const values = {
  undefined: undefined,
  null: null,
  true: true,
  false: false,
  'int 0': 0,
  'int 63': 63,
  'int -65': -65,
  'int 2^31-1': 2147483647,
  'int -2^31': -2147483648,
  '2^31': 2147483648,
  'safe integer': Number.MAX_SAFE_INTEGER,
  'double 1.5': 1.5,
  'double 0.1': 0.1,
  'double -0': -0,
  NaN: NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
  'least number': Number.MIN_VALUE,
  'greatest number': Number.MAX_VALUE,
  '1e21': 1e21,
  'string empty': '',
  'string ASCII': 'hello "\\/\b\n\u0001',
  'string Latin-1': 'café \u0080\u00ff',
  'string UTF-16': '漢字',
  'string mixed': 'a漢😀',
  'string NUL': 'a\0b',
  'string half a pair': 'a\ud800b',
  'string of 128': 'x'.repeat(128),
  'string of 300': '漢'.repeat(300),
  'bigint 0': 0n,
  'bigint -1': -1n,
  'bigint 2^64': 2n ** 64n,
  'bigint -2^100': -(2n ** 100n),
  'array empty': [],
  'array nested': [[1, 2], [3, [4]]],
  'array mixed': [1, 'a', null, undefined, true, 1.5, 2n],
  // prettier-ignore
  'array with a hole': [1, , 3],
  'array that had holes': new Array(3).fill('x'),
  'array with many holes': withProperties([], { 100000: 1 }),
  'array with properties': withProperties([1, 2], { foo: 'bar' }),
  'array of 200': Array.from({ length: 200 }, (_, i) => i),
  'object empty': {},
  'object nested': {
    user: { id: 'u1', tags: ['x', 'y'], age: 30, ok: true, nil: null },
  },
  'object int names': { 2: 'two', 1: 'one', b: 'bee', 4294967295: 1 },
  'object other names': { 漢: 1, é: 2, '': 3, '-1': 4, 1.5: 5 },
  'object undefined member': { a: undefined },
  'object __proto__': Object.defineProperty({}, '__proto__', {
    value: 1,
    enumerable: true,
    configurable: true,
    writable: true,
  }),
  'object of 50': Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`k${i}`, i]),
  ),
  'half a pair as name': { '\udc00': 1 },
  'shared references': shared(),
  'circular references': circular(),
  'nested 60 times': Array.from({ length: 60 }).reduce((n) => ({ n }), 0),
  'nested 200 times': Array.from({ length: 200 }).reduce((n) => ({ n }), 0),
  'Map empty': new Map(),
  Map: new Map([['a', 1], [2, 'b'], [{ k: 1 }, new Set([3])]]),
  'Set empty': new Set(),
  Set: new Set([1, 'a', null, undefined]),
  'Date 0': new Date(0),
  'Date 2023': new Date('2023-04-23T00:00:00.123Z'),
  'Date negative': new Date(-1),
  'Date far': new Date(8.64e15),
  'Date before Christ': new Date('-000043-03-15T12:00:00.000Z'),
  'Date invalid': new Date(NaN),
  RegExp: /a\/b+/gi,
  'RegExp all flags': /x/dgimsuy,
  'Number object': new Number(5),
  'String object': new String('s'),
  'Boolean object': new Boolean(false),
  'BigInt object': Object(5n),
  ArrayBuffer: bytes(1, 2, 3).buffer,
  'ArrayBuffer empty': new ArrayBuffer(0),
  Uint8Array: { b: bytes(1, 2, 3) },
  'Uint8Array part': { b: bytes(1, 2, 3, 4, 5).subarray(1, 3) },
  Int8Array: { b: new Int8Array([-1]) },
  Uint8ClampedArray: { b: new Uint8ClampedArray([255]) },
  Int16Array: { b: new Int16Array([-2]) },
  Uint16Array: { b: new Uint16Array([1, 2]) },
  Int32Array: { b: new Int32Array([-3]) },
  Uint32Array: { b: new Uint32Array([4]) },
  Float32Array: { b: new Float32Array([1.5]) },
  Float64Array: { b: new Float64Array([1.5, NaN]) },
  BigInt64Array: { b: new BigInt64Array([-1n]) },
  BigUint64Array: { b: new BigUint64Array([1n]) },
  DataView: { b: new DataView(bytes(1, 2, 3, 4).buffer, 1, 2) },
  'views of one buffer': views(),
  Error: failure(Error, 'boom', 'STACK'),
  TypeError: failure(TypeError, 'bad type', 'STACK'),
  'RangeError with a cause': failure(RangeError, 'r', 'STACK', {
    cause: failure(Error, 'inner', 'STACK2', { cause: new Map([[1, 2]]) }),
  }),
  SyntaxError: failure(SyntaxError, 'syn', 'S'),
  EvalError: failure(EvalError, 'e', 'S'),
  ReferenceError: failure(ReferenceError, 'e', 'S'),
  URIError: failure(URIError, 'e', 'S'),
  'everything at once': {
    born: new Date(0),
    tags: new Set(['a']),
    map: new Map([[1n, [undefined, /x/]]]),
    data: new Float64Array([0.5]),
    name: 'é漢',
    error: failure(TypeError, 'm', 's', { cause: bytes(9) }),
  },
};

class NoForm extends Error {}

function base64url(view) {
  const part = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return part.toString('base64url');
}

// Half a surrogate pair; Node 18 has no isWellFormed.
const HALF = /\p{Surrogate}/gu;
const whole = (text) => text.search(HALF) < 0;

function isList(array) {
  const names = Object.keys(array);
  return names.length === array.length && names.every((n, i) => n === `${i}`);
}

// Would JSON carry it?
export function isPlain(value, above = []) {
  if (value === null || typeof value === 'boolean') return true;
  if (typeof value === 'string') return whole(value);
  if (typeof value === 'number') {
    return Number.isFinite(value) && !Object.is(value, -0);
  }
  if (typeof value !== 'object' || above.includes(value)) return false;
  if (above.length === 64) return false;
  const kind = Object.prototype.toString.call(value);
  if (kind === '[object Array]' ? !isList(value) : kind !== '[object Object]') {
    return false;
  }
  return Object.entries(value).every(
    ([name, member]) => whole(name) && isPlain(member, [...above, value]),
  );
}

function typedNumber(value) {
  if (Object.is(value, -0)) return '-0';
  return Number.isFinite(value) ? value : String(value);
}

function typedString(value) {
  return {
    type: 'string',
    value: value.replace(HALF, '\ufffd'),
    utf16: Buffer.from(value, 'utf16le').toString('base64url'),
  };
}

function typedArray(array, each) {
  const isIndex = (name) => String(Number(name)) === name;
  if (array.length > 4096 || !Object.keys(array).every(isIndex)) {
    throw new NoForm();
  }
  const value = Array.from({ length: array.length }, (_, i) =>
    i in array ? each(array[i]) : { type: 'hole' },
  );
  return { type: 'Array', value };
}

function typedError(error, each) {
  const value = { message: error.message, stack: error.stack };
  if (Object.hasOwn(error, 'cause')) value.cause = each(error.cause);
  return { type: error.name, value };
}

function typedObject(value, each) {
  if (value instanceof Date) {
    const time = Number.isNaN(+value) ? 'Invalid Date' : value.toISOString();
    return { type: 'Date', value: time };
  }
  if (value instanceof RegExp) return { type: 'RegExp', value: String(value) };
  if (value instanceof Map) {
    return { type: 'Map', value: [...value].map((pair) => pair.map(each)) };
  }
  if (value instanceof Set) return { type: 'Set', value: [...value].map(each) };
  if (value instanceof Error) return typedError(value, each);
  const view = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  if (ArrayBuffer.isView(view)) {
    return {
      type: Object.prototype.toString.call(value).slice(8, -1),
      value: base64url(view),
      byteLength: value.byteLength,
    };
  }
  if (Object.prototype.toString.call(value) !== '[object Object]') {
    throw new NoForm();
  }
  const members = Object.entries(value);
  if (!members.every(([name]) => whole(name))) throw new NoForm();
  return {
    type: 'object',
    value: Object.fromEntries(members.map(([name, m]) => [name, each(m)])),
  };
}

function typed(value, above = []) {
  if (above.includes(value) || above.length > 64) throw new NoForm();
  const each = (inner) => typed(inner, [...above, value]);
  switch (typeof value) {
    case 'undefined':
      return { type: 'undefined' };
    case 'bigint':
      return { type: 'bigint', value: String(value) };
    case 'number':
      return { type: 'number', value: typedNumber(value) };
    case 'string':
      return whole(value) ? { type: 'string', value } : typedString(value);
    case 'boolean':
      return { type: 'boolean', value };
  }
  if (value === null) return { type: 'null', value };
  if (Array.isArray(value)) return typedArray(value, each);
  return typedObject(value, each);
}

// The typed form of a value, undefined when it has none.
export function typedForm(value) {
  try {
    return typed(value);
  } catch (error) {
    if (!(error instanceof NoForm)) throw error;
    return undefined;
  }
}
