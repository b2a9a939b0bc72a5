/** Formats for programs. */
export const OUTPUT_FORMATS = ['json', 'yaml'] as const;
/** A format for programs. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];
