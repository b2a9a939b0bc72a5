/** The rules of the contract, as the pages state them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the rules are written, relative to the repository. */
export const RULE_PAGES = {
  semantics: 'docs/semantics.md',
  security: 'docs/security.md',
  terraform: 'docs/terraform-rules.md',
} as const;

/** A rule of the contract. */
export interface Rule {
  /** Such as `S3.4`; never means anything else, and never comes again. */
  id: string;
  /** What it is called. */
  name: string;
  /** Heading of the part of the page that it stands in, with those above it. */
  section: string;
  /** Rules that keep this one: a test of any of them shows it. */
  keptBy: readonly string[];
  /** Why no test can show it; absent: a test must. */
  untestable?: string;
}

/** All rules, in the order of the pages. */
export function readRules(root: string): Rule[] {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  return [
    ...rulesOf(read(RULE_PAGES.semantics)),
    ...threatsOf(read(RULE_PAGES.security)),
    ...rulesOf(read(RULE_PAGES.terraform)).map((rule) => ({
      ...rule,
      section: `Terraform: ${rule.section}`,
    })),
  ];
}

/** Ids that pages say are not built yet: code may name what it waits for. */
export function comingRules(root: string): string[] {
  const page = readFileSync(join(root, RULE_PAGES.terraform), 'utf8');
  return idsIn(/^Not built yet.*$/m.exec(page)?.[0] ?? '');
}

/**
 * Rules as a page lists them: `- **S3.4 Name.** Text`. At the end of the text stand, if need be, the rules that keep it
 * (`→ S1.2, S4.8`), or why it has no test (`_Untestable: reason._`).
 */
export function rulesOf(page: string): Rule[] {
  const rules: Rule[] = [];
  const headings: string[] = [];
  for (const block of page.split(/\n(?=#|- |\n)/)) {
    const heading = /^(##+) (.+)$/m.exec(block);
    if (heading !== null) {
      const depth = (heading[1]?.length ?? 2) - 2;
      headings.splice(depth, headings.length, heading[2] ?? '');
    }
    const rule = /^- \*\*([A-Z]+\d[\d.]*) (.+?)\.?\*\*\s([^]*)$/.exec(block);
    if (rule === null) continue;
    const [, id = '', name = '', text = ''] = rule;
    const untestable = /_Untestable: ([^_]+?)\.?_/.exec(text)?.[1];
    rules.push({
      id,
      name,
      section: headings.join(': '),
      keptBy: idsIn(text.split('→')[1] ?? ''),
      ...(untestable !== undefined && { untestable }),
    });
  }
  return rules;
}

/** The threats of the security page, which are rows of a table: `| 5 | threat | answer | tests |`. */
export function threatsOf(page: string): Rule[] {
  return [...page.matchAll(/^\| (\d+) +\| ([^|]+?) +\|/gm)].map(([, number = '', name = '']) => ({
    id: `SEC${number}`,
    name,
    section: 'Security',
    keptBy: [],
  }));
}

/** Ids of rules in a text. */
export const idsIn = (text: string): string[] => text.match(/\b(?:[ST]\d+\.\d+|SEC\d+|[PED]\d+)\b/g) ?? [];

/** Ids of rules that a title carries in brackets. */
export const idsOfTitle = (title: string): string[] =>
  [...title.matchAll(/\[([ST]\d+\.\d+|SEC\d+|[PED]\d+)\]/g)].map(([, id = '']) => id);
