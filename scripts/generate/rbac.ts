import type { AccessRole, KindDescriptor } from '../../api/core/kind-descriptor.js';

/** Files of `deploy/rbac` with rules that are made from the kinds; everything else in them is written by hand. */
export const RBAC_FILES = ['bridge', 'users', 'worker'].map((name) => `deploy/rbac/${name}.yaml`);

const BLOCK = /^( *)# kinds of (\w+), by `npm run generate`\n[^]*?^\1# end of kinds\n/gm;
const WIDTH = 118;

/**
 * The text of a file with the rules about our kinds brought up to date: they stand between two comments that name a role.
 *
 * @throws Error where a block names no role
 */
export function withKindRules(text: string, kinds: readonly KindDescriptor[]): string {
  return text.replaceAll(BLOCK, (_, indent: string, role: string) => {
    const rules = rulesOf(role as AccessRole, kinds);
    if (rules.length === 0) throw new Error(`no kind says what role "${role}" may do`);
    const lines = rules.flatMap(({ why, group, resources, verbs }) => [
      ...(why === undefined ? [] : comment(why, WIDTH - indent.length)),
      `- apiGroups: [${group}]`,
      `  resources: [${resources.join(', ')}]`,
      `  verbs: [${verbs.join(', ')}]`,
    ]);
    const block = [`# kinds of ${role}, by \`npm run generate\``, ...lines, '# end of kinds'];
    return block.map((line) => `${indent}${line}\n`).join('');
  });
}

interface Rule {
  why?: string;
  group: string;
  resources: string[];
  verbs: readonly string[];
}

/** Rules that differ in nothing but the resource are one. */
function rulesOf(role: AccessRole, kinds: readonly KindDescriptor[]): Rule[] {
  const rules = new Map<string, Rule>();
  for (const { group, plural, access } of kinds) {
    for (const { role: whose, verbs, part, why } of access) {
      if (whose !== role) continue;
      const resource = part === undefined ? plural : `${plural}/${part}`;
      const key = [group, part, why, ...verbs].join(' ');
      const known = rules.get(key);
      if (known === undefined)
        rules.set(key, { group, resources: [resource], verbs, ...(why !== undefined && { why }) });
      else known.resources.push(resource);
    }
  }
  return [...rules.values()];
}

function comment(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > width) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
