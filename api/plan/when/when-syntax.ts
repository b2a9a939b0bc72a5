/**
 * Brings the accepted spellings of a condition to CEL: braces around it or its parts are taken off, and references
 * with a leading dot become indexes, so that names may hold `-`: `.outputs.x-y.phase` is
 * `outputs["x-y"]["phase"]`. A mode needs no quotes, as in `mode == install`. Works on tokens: text literals are left
 * alone.
 */
export function normaliseWhen(expression: string): { text: string } | { error: string } {
  let text = '';
  let inBraces = false;
  let at = 0;
  if (expression.trim() === '') return { error: 'it is empty' };
  while (at < expression.length) {
    const literal = matchAt(LITERAL, expression, at);
    if (literal !== undefined) {
      if (/\{\{|\$\((?:params|outputs)\./.test(literal)) {
        return {
          error: `${literal} holds a placeholder; write the name without quotes, as in params["x"] == "a"`,
        };
      }
      text += literal;
      at += literal.length;
      continue;
    }
    if (!inBraces && expression.startsWith('{{', at)) {
      inBraces = true;
      text += '(';
      at += 2;
      continue;
    }
    if (inBraces && expression.startsWith('}}', at)) {
      inBraces = false;
      text += ')';
      at += 2;
      continue;
    }
    const before = text.trimEnd().at(-1) ?? '';
    const reference = /[\w)\]"'}]/.test(before) ? undefined : matchAt(REFERENCE, expression, at);
    if (reference !== undefined) {
      text += toIndexes(reference);
      at += reference.length;
      continue;
    }
    // A word is taken whole, so that no literal or reference is seen inside it.
    const word = matchAt(WORD, expression, at) ?? expression.charAt(at);
    // The original takes a mode without quotes.
    text += BARE_MODE.test(word) && COMPARES_MODE.test(text) ? JSON.stringify(word) : word;
    at += word.length;
  }
  return inBraces ? { error: '"{{" is not closed by "}}"' } : { text };
}

const LITERAL =
  /[rRbB]{0,2}(?:"{3}(?:[^\\]|\\[^])*?"{3}|'{3}(?:[^\\]|\\[^])*?'{3}|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')/y;
const REFERENCE =
  /\.(?:(?:params|outputs|phases)(?:\.[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*)+|(?:params|outputs|phases|mode|runMode|operation)(?![A-Za-z0-9_]))/y;
const BARE_MODE = /^(?:install|upgrade|delete|rollback)$/i;
const COMPARES_MODE = /(?:^|[^\w.])(?:mode|operation)\s*[=!]=\s*$/;
const WORD = /[A-Za-z0-9_]+/y;

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function toIndexes(reference: string): string {
  const [root = '', ...names] = reference.slice(1).split('.');
  return (
    root +
    names.map((name, depth) => (depth > 0 && /^[0-9]+$/.test(name) ? `[${name}]` : `["${name}"]`)).join('')
  );
}
