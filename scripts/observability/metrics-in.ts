/** What an expression of PromQL reads. */
export interface Read {
  /** Name of a series. */
  series: string;
  /** Labels that it is selected by. */
  labels: string[];
}

const SERIES = /\b((?:drover|temporal|process|nodejs)_[a-z0-9_]+)\b(?:\{([^}]*)\})?/g;
const LABEL = /([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)/g;

/** The series that an expression reads, each with the labels of its selector. */
export const metricsIn = (expression: string): Read[] =>
  [...expression.matchAll(SERIES)].map(([, series = '', selector = '']) => ({
    series,
    labels: [...selector.matchAll(LABEL)].map(([, label = '']) => label),
  }));

const GROUPING = /\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g;

/** The labels that an expression groups by, except those that scraping adds. */
export const groupingsIn = (expression: string): string[] =>
  [...expression.matchAll(GROUPING)].flatMap(([, labels = '']) =>
    labels
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== ''),
  );
