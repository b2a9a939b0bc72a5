/** A rule of the contract and what shows that it holds. */
export interface Rule {
  /** Stable: `S3.4` is the fourth rule of the third chapter of the plan semantics. */
  id: string;
  /** In a few words of our own. */
  text: string;
  /** Tests, as `<file> > <describe> > <title>`; titles as they are written, also of tables (`%s`). */
  tests: readonly string[];
  /** What is not shown, and why it cannot be here. Needed where there are no tests. */
  open?: string;
}

/** A chapter of the contract. */
export interface Chapter {
  title: string;
  rules: readonly Rule[];
}

/** One rule; ids are given by {@link chapter}. */
export type RuleText = readonly [text: string, tests: readonly string[], open?: string];

/** A chapter whose rules are numbered in order: never insert in the middle, ids are quoted elsewhere. */
export function chapter(prefix: string, title: string, rules: readonly RuleText[]): Chapter {
  return {
    title,
    rules: rules.map(([text, tests, open], index) => ({
      id: `${prefix}${index + 1}`,
      text,
      tests,
      ...(open !== undefined && { open }),
    })),
  };
}
