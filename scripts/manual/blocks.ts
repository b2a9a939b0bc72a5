/** Commands that pages show, and what runs each of them. */
import { existsSync, readFileSync } from 'node:fs';

/** A block of shell on a page. */
export interface ShellBlock {
  page: string;
  /** Of its first command, counted from 1. */
  line: number;
  text: string;
  /** Why nothing runs it: `<!-- no-run: REASON -->` directly before it. */
  reason?: string;
}

/** How a block is run, in the order of its page. */
export interface Step {
  /** What the block begins with, so that a table that has fallen behind is noticed. */
  begins: string;
  /** What a reader would write differently: names that only the run knows, places of this machine. */
  with?: Readonly<Record<string, string>>;
  /** What the page takes for granted at this point. */
  before?: string;
  /** kubectl is led to a cluster of the reader's own; else to what `drover up` has brought up. */
  ownCluster?: boolean;
  /** What has to be in its output. */
  shows?: readonly RegExp[];
  /** A test that runs the blocks of the page by itself: nothing else is said then. */
  by?: string;
}

/** All steps of a page. */
export interface Walk {
  page: string;
  /** Files that the page tells to write: name, and which of its blocks of YAML it is, counted from 0. */
  files?: Readonly<Record<string, number>>;
  steps: readonly Step[];
}

/** The blocks of shell of a page, in order. */
export function shellBlocks(page: string, text: string): ShellBlock[] {
  return [...text.matchAll(/^( *)```(?:sh|shell|bash|console)\n([^]*?)^\1```/gm)].map((match) => {
    const [, indent = '', body = ''] = match;
    const before = text.slice(0, match.index);
    const reason = /<!-- no-run: ((?:(?!-->)[^])*?) -->\s*$/.exec(before)?.[1]?.replaceAll(/\s+/g, ' ');
    return {
      page,
      line: before.split('\n').length + 1,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      ...(reason !== undefined && { reason }),
    };
  });
}

/** The blocks of YAML of a page, in order. */
export const yamlBlocks = (text: string): string[] =>
  [...text.matchAll(/^```yaml\n([^]*?)^```/gm)].map(([, body = '']) => body);

/**
 * Blocks that nothing runs and that give no reason, and steps of a table without a block.
 *
 * @param blocks of all pages
 */
export function uncovered(blocks: readonly ShellBlock[], walks: readonly Walk[]): string[] {
  const pages = new Set([...blocks.map(({ page }) => page), ...walks.map(({ page }) => page)]);
  return [...pages].flatMap((page) => {
    const shown = blocks.filter((block) => block.page === page && block.reason === undefined);
    const steps = walks.filter((walk) => walk.page === page).flatMap((walk) => walk.steps);
    const faults = shown
      .map(({ line, text }, at) => ({ line, text, step: steps[at] }))
      .filter(({ text, step }) => step === undefined || !text.startsWith(step.begins))
      .map(({ line, text }) => `${page}:${line}: nothing runs "${text.split('\n', 1)[0]}"`);
    const left = steps.slice(shown.length).map(({ begins }) => `${page}: has no block "${begins}"`);
    const lost = steps
      .filter(({ by }) => by !== undefined && !(existsSync(by) && readFileSync(by, 'utf8').includes(page)))
      .map(({ begins, by }) => `${page}: "${begins}" is not run by ${by}`);
    return [...faults, ...left, ...lost];
  });
}
