/**
 * The syntax of JSON, read as a stream of bytes. All of a document is checked, and nothing of it is kept but the scalar or
 * key that is being read, where somebody wants it.
 */

/** Is told what there is in a document, in its order. Positions are in bytes from its beginning. */
export interface JsonListener {
  /** A list, object or scalar begins. @returns of a scalar: whether its text is wanted at its end */
  valueBegins(kind: 'list' | 'object' | 'scalar', start: number): boolean;
  /** A list, object or scalar has ended; `text` is the JSON of a scalar that is wanted. */
  valueEnds(end: number, text: string | undefined): void;
  /** Whether the keys of the innermost object are wanted. */
  wantsKeys(): boolean;
  /** A key that is wanted. */
  key(key: string): void;
}

/** Takes a document in, chunk by chunk. A chunk may be written over after the call. */
export interface JsonReader {
  /** False once the bytes are known to be no JSON; the rest need not be read. */
  push(chunk: Uint8Array): boolean;
  /** Says that there are no more bytes. @returns why they are no whole document, or undefined */
  end(): string | undefined;
}

/** Deeper documents are refused. */
const MAX_DEPTH = 1000;
/** Longest scalar or key that is kept, in bytes. */
const MAX_KEPT = 1024 ** 2;

type Expects = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd' | 'nothing';
type Reading = 'between' | 'string' | 'number' | 'literal';
/** Places in the grammar of a number. */
type NumberPlace = 'sign' | 'zero' | 'whole' | 'point' | 'fraction' | 'e' | 'eSign' | 'exponent';

const byteOf = (character: string): number => character.charCodeAt(0);
const QUOTE = byteOf('"');
const BACKSLASH = byteOf('\\');
const LETTER_U = byteOf('u');
const SPACES = new Set([...' \n\r\t'].map(byteOf));
const ESCAPES = new Set([...'"\\/bfnrtu'].map(byteOf));
const LITERALS = new Map(['true', 'false', 'null'].map((word) => [byteOf(word), word]));
const MAY_END_NUMBER: ReadonlySet<NumberPlace> = new Set(['zero', 'whole', 'fraction', 'exponent']);

/** A reader of one document. */
export function createJsonReader(listener: JsonListener): JsonReader {
  return new Reader(listener);
}

class Reader implements JsonReader {
  readonly #listener: JsonListener;
  /** Whether each open list or object is a list, from the root on. */
  readonly #isList: boolean[] = [];
  #expects: Expects = 'value';
  #reading: Reading = 'between';
  #isKey = false;
  /** Characters that an escape in a string still has, its letter included. */
  #escape = 0;
  #place: NumberPlace = 'sign';
  #literal = '';
  /** Bytes before the present chunk. */
  #base = 0;
  /** Parts of the scalar or key that is read now, from earlier chunks; undefined where it is not wanted. */
  #parts: Uint8Array[] | undefined;
  /** Where in the present chunk the rest of it begins. */
  #from = 0;
  #problem: string | undefined;

  constructor(listener: JsonListener) {
    this.#listener = listener;
  }

  push(chunk: Uint8Array): boolean {
    let at = 0;
    this.#from = 0;
    while (at < chunk.length && this.#problem === undefined) {
      switch (this.#reading) {
        case 'between':
          at = this.#structure(chunk, at);
          break;
        case 'string':
          at = this.#string(chunk, at);
          break;
        case 'number':
          at = this.#number(chunk, at);
          break;
        case 'literal':
          at = this.#word(chunk, at);
          break;
      }
    }
    if (this.#reading !== 'between') this.#keep(chunk, chunk.length);
    this.#base += chunk.length;
    return this.#problem === undefined;
  }

  end(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    // A number that is the whole document ends with it.
    if (this.#reading === 'number' && MAY_END_NUMBER.has(this.#place) && this.#isList.length === 0) {
      this.#from = 0;
      this.#scalarEnds(new Uint8Array(), 0);
    }
    if (this.#base === 0) return 'it is empty';
    const isWhole = this.#expects === 'nothing' && this.#reading === 'between';
    return this.#problem ?? (isWhole ? undefined : `it breaks off after ${this.#base} bytes`);
  }

  #fail(what: string, at: number): number {
    this.#problem ??= `${what} at byte ${this.#base + at}`;
    return at + 1;
  }

  #structure(chunk: Uint8Array, at: number): number {
    const byte = chunk[at]!;
    if (SPACES.has(byte)) return at + 1;
    const character = String.fromCharCode(byte);
    switch (this.#expects) {
      case 'valueOrEnd':
        if (character === ']') return this.#close(at, true);
        return this.#value(character, chunk, at);
      case 'value':
        return this.#value(character, chunk, at);
      case 'keyOrEnd':
        if (character === '}') return this.#close(at, false);
        return this.#keyBegins(character, at);
      case 'key':
        return this.#keyBegins(character, at);
      case 'colon':
        this.#expects = 'value';
        return character === ':' ? at + 1 : this.#fail('there is no colon', at);
      case 'commaOrEnd': {
        const isList = this.#isList.at(-1) === true;
        if (character === (isList ? ']' : '}')) return this.#close(at, isList);
        this.#expects = isList ? 'value' : 'key';
        return character === ',' ? at + 1 : this.#fail('there is no comma', at);
      }
      case 'nothing':
        return this.#fail('there is more after its end', at);
    }
  }

  #value(character: string, chunk: Uint8Array, at: number): number {
    const start = this.#base + at;
    if (character === '{' || character === '[') {
      const isList = character === '[';
      if (this.#isList.length >= MAX_DEPTH) return this.#fail(`it is nested more than ${MAX_DEPTH} deep`, at);
      this.#listener.valueBegins(isList ? 'list' : 'object', start);
      this.#isList.push(isList);
      this.#expects = isList ? 'valueOrEnd' : 'keyOrEnd';
      return at + 1;
    }
    this.#isKey = false;
    this.#parts = this.#listener.valueBegins('scalar', start) ? [] : undefined;
    this.#from = at;
    if (character === '"') {
      this.#reading = 'string';
      return at + 1;
    }
    const byte = chunk[at]!;
    const literal = LITERALS.get(byte);
    if (literal !== undefined) {
      this.#reading = 'literal';
      this.#literal = literal;
      return at;
    }
    const place = firstPlace(byte);
    if (place === undefined) return this.#fail('there is no value', at);
    this.#reading = 'number';
    this.#place = place;
    return at + 1;
  }

  #keyBegins(character: string, at: number): number {
    if (character !== '"') return this.#fail('there is no key', at);
    this.#isKey = true;
    this.#parts = this.#listener.wantsKeys() ? [] : undefined;
    this.#from = at;
    this.#reading = 'string';
    return at + 1;
  }

  #string(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      if (this.#escape > 0) {
        if (!this.#escapeGoesOn(byte)) return this.#fail('there is an unknown escape', at);
      } else if (byte === QUOTE) {
        at += 1;
        if (this.#isKey) this.#keyEnds(chunk, at);
        else this.#scalarEnds(chunk, at);
        return at;
      } else if (byte === BACKSLASH) {
        this.#escape = 1;
      } else if (byte < 0x20) {
        return this.#fail('there is a control character in a text', at);
      }
    }
    return at;
  }

  #escapeGoesOn(byte: number): boolean {
    if (this.#escape === 1) {
      this.#escape = byte === LETTER_U ? 5 : 0;
      return ESCAPES.has(byte);
    }
    // 5 to 2: that many less one digits are to come.
    this.#escape = this.#escape === 2 ? 0 : this.#escape - 1;
    return isHexDigit(byte);
  }

  #number(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length; at += 1) {
      const next = nextPlace(this.#place, chunk[at]!);
      if (next === undefined) {
        if (!MAY_END_NUMBER.has(this.#place)) return this.#fail('a number breaks off', at);
        this.#scalarEnds(chunk, at);
        return at;
      }
      this.#place = next;
    }
    return at;
  }

  #word(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length && this.#literal !== ''; at += 1) {
      if (chunk[at] !== byteOf(this.#literal)) return this.#fail('there is no value', at);
      this.#literal = this.#literal.slice(1);
    }
    if (this.#literal === '') this.#scalarEnds(chunk, at);
    return at;
  }

  #scalarEnds(chunk: Uint8Array, end: number): void {
    const text = this.#text(chunk, end);
    this.#reading = 'between';
    this.#valueEnds(end, text);
  }

  #keyEnds(chunk: Uint8Array, end: number): void {
    const text = this.#text(chunk, end);
    this.#reading = 'between';
    this.#expects = 'colon';
    if (text !== undefined) this.#listener.key(JSON.parse(text) as string);
  }

  #close(at: number, isList: boolean): number {
    if (this.#isList.pop() !== isList) return this.#fail('there is a wrong bracket', at);
    this.#valueEnds(at + 1, undefined);
    return at + 1;
  }

  #valueEnds(end: number, text: string | undefined): void {
    this.#expects = this.#isList.length === 0 ? 'nothing' : 'commaOrEnd';
    this.#listener.valueEnds(this.#base + end, text);
  }

  /** Keeps what the chunk has of the scalar or key that is read now. */
  #keep(chunk: Uint8Array, end: number): void {
    if (this.#parts === undefined) return;
    // Copied: the caller may write over the chunk.
    this.#parts.push(chunk.slice(this.#from, end));
    const bytes = this.#parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes > MAX_KEPT) this.#fail(`there is a text of more than ${MAX_KEPT} bytes`, end);
  }

  #text(chunk: Uint8Array, end: number): string | undefined {
    this.#keep(chunk, end);
    if (this.#parts === undefined || this.#problem !== undefined) return undefined;
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = undefined;
    return text;
  }
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isHexDigit = (byte: number): boolean =>
  isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);

function firstPlace(byte: number): NumberPlace | undefined {
  if (byte === byteOf('-')) return 'sign';
  if (byte === byteOf('0')) return 'zero';
  return isDigit(byte) ? 'whole' : undefined;
}

/** Where a number is after one more byte; undefined where that does not belong to it. */
function nextPlace(place: NumberPlace, byte: number): NumberPlace | undefined {
  const character = String.fromCharCode(byte);
  const digit = isDigit(byte);
  switch (place) {
    case 'sign':
      return firstPlace(byte) === 'sign' ? undefined : firstPlace(byte);
    case 'zero':
    case 'whole':
      if (digit) return place === 'whole' ? 'whole' : undefined;
      if (character === '.') return 'point';
      return /[eE]/.test(character) ? 'e' : undefined;
    case 'point':
      return digit ? 'fraction' : undefined;
    case 'fraction':
      if (digit) return 'fraction';
      return /[eE]/.test(character) ? 'e' : undefined;
    case 'e':
      if (/[+-]/.test(character)) return 'eSign';
      return digit ? 'exponent' : undefined;
    case 'eSign':
    case 'exponent':
      return digit ? 'exponent' : undefined;
  }
}
