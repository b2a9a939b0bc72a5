/** Names that variables may have (T5.4). */
import type { Refusal } from '../core/refusal.js';
import type { Variable } from './operation-terms.js';

/** What the environment of an engine is built from; not for variables to set. */
export const BUILT_ENVIRONMENT = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'TF_IN_AUTOMATION',
  'TF_INPUT',
  'TF_CLI_CONFIG_FILE',
] as const;

/** Names, and beginnings of names that end with `*`, which change where state, plugins, logs or code come from. */
export const REFUSED_ENVIRONMENT = [
  'TF_CLI_ARGS*',
  'TF_DATA_DIR',
  'TF_WORKSPACE',
  'TF_LOG*',
  'TF_ENCRYPTION',
  'TF_REATTACH_PROVIDERS',
  'TF_STATE_PERSIST_INTERVAL',
  // The older name of TF_CLI_CONFIG_FILE.
  'TERRAFORM_CONFIG',
  'LD_*',
  'DYLD_*',
  'NODE_OPTIONS',
] as const;

const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** As both engines name input variables. */
const TERRAFORM_NAME = /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u;
/** Names that the engines keep for themselves in a `module` block. */
const RESERVED_NAMES = new Set([
  'source',
  'version',
  'providers',
  'count',
  'for_each',
  'lifecycle',
  'depends_on',
  'locals',
]);

/** Why a variable may not have its name; reason `InvalidVariable`. */
export function refuseVariableName({
  key,
  variableType,
}: Pick<Variable, 'key' | 'variableType'>): Refusal | undefined {
  const message = variableType === 'environment' ? refuseEnvironmentName(key) : refuseTerraformName(key);
  return message === undefined ? undefined : { reason: 'InvalidVariable', message };
}

function refuseEnvironmentName(key: string): string | undefined {
  if (!ENVIRONMENT_NAME.test(key)) {
    return `environment variable ${JSON.stringify(key)}: a name has letters, digits and _, and does not begin with a digit`;
  }
  const upper = key.toUpperCase();
  const isRefused = [...BUILT_ENVIRONMENT, ...REFUSED_ENVIRONMENT].some((name) =>
    name.endsWith('*') ? upper.startsWith(name.slice(0, -1)) : upper === name,
  );
  return isRefused
    ? `environment variable ${key} is not for a workspace to set; refused are ` +
        [...BUILT_ENVIRONMENT, ...REFUSED_ENVIRONMENT].join(', ')
    : undefined;
}

function refuseTerraformName(key: string): string | undefined {
  if (!TERRAFORM_NAME.test(key)) {
    return `variable ${JSON.stringify(key)}: a name has letters, digits, _ and -, and begins with a letter or _`;
  }
  return RESERVED_NAMES.has(key)
    ? `variable ${key} has a name that engines keep for themselves: ${[...RESERVED_NAMES].join(', ')}`
    : undefined;
}

/**
 * The values of terraform variables as a file that an engine reads. A file, as values may be too long for a command line,
 * which also everybody on the host can read.
 */
export function variableFile(variables: readonly Variable[]): string {
  return variables
    .filter(({ variableType }) => variableType === 'terraform')
    .map(({ key, value, valueFormat }) =>
      // In parentheses an expression may have line breaks.
      valueFormat === 'hcl' ? `${key} = (\n${value}\n)\n` : `${key} = ${hclText(value)}\n`,
    )
    .join('');
}

/** A text as the engines' language writes it. */
export function hclText(value: string): string {
  const escaped = value.replaceAll(/["\\]|\p{Cc}|[$%]\{/gu, (part) => {
    if (part === '"' || part === '\\') return `\\${part}`;
    // `$${` and `%%{` stand for what would else begin a template.
    if (part.length === 2) return `${part[0]}${part}`;
    return HCL_ESCAPES[part] ?? `\\u${part.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

const HCL_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Shorter lines of a secret are found in ordinary text. */
const MIN_LINE = 8;

/**
 * Texts that no log may show: sensitive values, the texts inside those that are expressions, and the lines of longer ones,
 * since engines pass on the output of programs line by line.
 */
export function secretTexts(variables: readonly Variable[]): string[] {
  return variables
    .filter(({ sensitive }) => sensitive)
    .flatMap(({ value, valueFormat }) => [value, ...(valueFormat === 'hcl' ? textsIn(value) : [])])
    .flatMap((text) => {
      const lines = text.split('\n').map((line) => line.trim());
      return lines.length === 1 ? [text] : [text, ...lines.filter((line) => line.length >= MIN_LINE)];
    });
}

const textsIn = (expression: string): string[] =>
  [...expression.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map(([, inner = '']) => unescaped(inner));

const unescaped = (text: string): string =>
  text
    .replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hex: string | undefined, letter: string | undefined) =>
      hex === undefined ? (UNESCAPED[letter ?? ''] ?? letter ?? '') : String.fromCharCode(parseInt(hex, 16)),
    )
    .replaceAll(/([$%])\1\{/g, '$1{');

const UNESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
