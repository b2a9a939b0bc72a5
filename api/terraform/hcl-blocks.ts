/**
 * Which blocks stand inside the top-level `terraform` blocks of a file in the engines' language. Comments, texts and
 * heredocs are passed over as the engines do, so that what stands in them is none; a file with faults of syntax is the
 * engine's to refuse.
 */

/** A block that was found. */
export interface FoundBlock {
  type: string;
  /** Counted from 1. */
  line: number;
}

/** Deeper brackets are not followed. */
const MAX_DEPTH = 500;

/**
 * Blocks directly inside `terraform { … }`.
 *
 * @returns undefined where brackets are nested more than 500 deep: what comes after those is not known
 */
export function blocksOfTerraform(text: string): FoundBlock[] | undefined {
  return new Blocks(text).find();
}

class Blocks {
  readonly #text: string;
  #at: number;
  readonly #identifier = /[\p{ID_Start}_][\p{ID_Continue}-]*/uy;
  readonly #opening = /<<-?([\p{ID_Start}_][\p{ID_Continue}-]*)\r?\n/uy;
  readonly #found: FoundBlock[] = [];
  #depth = 0;
  #isTooDeep = false;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith('\uFEFF') ? 1 : 0;
  }

  find(): FoundBlock[] | undefined {
    this.#body(undefined);
    return this.#isTooDeep ? undefined : this.#found;
  }

  /** What stands inside brackets, up to the one that closes them. */
  #inner(inside: string | undefined): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) {
      this.#isTooDeep = true;
      this.#at = this.#text.length;
    }
    this.#body(inside);
    this.#depth -= 1;
  }

  /** A body, up to the bracket that closes it. `inside`: type of the top-level block that it is of. */
  #body(inside: string | undefined): void {
    let header: string[] = [];
    let start = 0;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at]!;
      if (character === ' ' || character === '\t' || character === '\r') {
        this.#at += 1;
      } else if (character === '\n') {
        header = [];
        this.#at += 1;
      } else if ((character === '#' || character === '/') && this.#comment()) {
        // One that ends with its line ends what stands before it, too.
        if (this.#text[this.#at - 1] === '\n') header = [];
      } else if (character === '"') {
        header.push('"');
        this.#quoted();
      } else if (character === '<' && this.#heredoc()) {
        header = [];
      } else if (character === '{' || character === '[' || character === '(') {
        this.#at += 1;
        const type = character === '{' && isHeader(header) ? header[0] : undefined;
        if (type !== undefined && inside === 'terraform') this.#found.push({ type, line: this.#line(start) });
        this.#inner(this.#depth === 0 ? type : undefined);
        header = [];
      } else if (character === '}' || character === ']' || character === ')') {
        this.#at += 1;
        // Outside of all brackets it is a fault of syntax; what follows is read all the same.
        if (this.#depth > 0) return;
      } else {
        if (header.length === 0) start = this.#at;
        header.push(this.#word() ?? character);
      }
    }
  }

  #word(): string | undefined {
    this.#identifier.lastIndex = this.#at;
    const [word] = this.#identifier.exec(this.#text) ?? [];
    this.#at += word?.length ?? 1;
    return word;
  }

  #comment(): boolean {
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (rest === '/*') this.#skipPast('*/');
    else if (rest === '//' || rest.startsWith('#')) this.#skipPast('\n');
    else return false;
    return true;
  }

  #skipPast(mark: string): void {
    const end = this.#text.indexOf(mark, this.#at + (mark === '*/' ? 2 : 0));
    this.#at = end < 0 ? this.#text.length : end + mark.length;
  }

  /** From the quote on, past the one that closes it. */
  #quoted(): void {
    this.#at += 1;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at]!;
      // A text does not go past its line; where it does, that is a fault of syntax.
      if (character === '\n') return;
      if (character === '\\') this.#at += 2;
      else if (!this.#template()) {
        this.#at += 1;
        if (character === '"') return;
      }
    }
  }

  /** What stands in `${ }` or `%{ }` may hold texts and brackets of its own. */
  #template(): boolean {
    const character = this.#text[this.#at];
    if (character !== '$' && character !== '%') return false;
    if (this.#text.startsWith(`${character}${character}{`, this.#at)) {
      this.#at += 3;
      return true;
    }
    if (this.#text[this.#at + 1] !== '{') return false;
    this.#at += 2;
    this.#inner(undefined);
    return true;
  }

  #heredoc(): boolean {
    this.#opening.lastIndex = this.#at;
    const [opening, marker] = this.#opening.exec(this.#text) ?? [];
    if (opening === undefined) return false;
    this.#at += opening.length;
    let isLineStart = true;
    while (this.#at < this.#text.length) {
      if (isLineStart) {
        const end = this.#text.indexOf('\n', this.#at);
        const line = this.#text.slice(this.#at, end < 0 ? undefined : end);
        if (line.trim() === marker) {
          this.#at += line.length;
          return true;
        }
      }
      isLineStart = this.#text[this.#at] === '\n';
      if (!this.#template()) this.#at += 1;
    }
    return true;
  }

  #line(offset: number): number {
    return this.#text.slice(0, offset).split('\n').length;
  }
}

/** Whether words can be what a block begins with: its type and labels, and nothing of an attribute. */
const isHeader = (words: readonly string[]): boolean =>
  words.length > 0 &&
  /^[\p{ID_Start}_]/u.test(words[0]!) &&
  words.every((word) => /^["\p{ID_Start}_]/u.test(word));
