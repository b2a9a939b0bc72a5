import pc from 'picocolors';

/** Colours and signs of the output. */
export interface Style {
  readonly unicode: boolean;
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly active: (text: string) => string;
  /** A text in the colour of a phase. */
  readonly phase: (phase: string, text?: string) => string;
  /** One character that stands for a phase, coloured. */
  readonly sign: (phase: string) => string;
}

type Tone = 'good' | 'bad' | 'warn' | 'active' | 'dim' | 'plain';

const PHASES: Record<string, { tone: Tone; sign: string; ascii: string }> = {
  Succeeded: { tone: 'good', sign: '✔', ascii: '+' },
  Ready: { tone: 'good', sign: '✔', ascii: '+' },
  Executed: { tone: 'good', sign: '✔', ascii: '+' },
  Failed: { tone: 'bad', sign: '✖', ascii: 'x' },
  Invalid: { tone: 'bad', sign: '✖', ascii: 'x' },
  Cancelled: { tone: 'warn', sign: '■', ascii: '#' },
  Canceled: { tone: 'warn', sign: '■', ascii: '#' },
  Running: { tone: 'active', sign: '●', ascii: '*' },
  Skipped: { tone: 'dim', sign: '–', ascii: '-' },
  Pending: { tone: 'dim', sign: '○', ascii: '.' },
};
const UNKNOWN = { tone: 'plain', sign: '·', ascii: '?' } as const;

/** A style; without colour it adds nothing to the text. */
export function createStyle(options: { color: boolean; unicode: boolean }): Style {
  const colors = pc.createColors(options.color);
  const tones: Record<Tone, (text: string) => string> = {
    good: colors.green,
    bad: colors.red,
    warn: colors.yellow,
    active: colors.cyan,
    dim: colors.dim,
    plain: (text) => text,
  };
  const lookOf = (phase: string): { tone: Tone; sign: string; ascii: string } => PHASES[phase] ?? UNKNOWN;
  return {
    unicode: options.unicode,
    bold: colors.bold,
    dim: colors.dim,
    good: colors.green,
    bad: colors.red,
    warn: colors.yellow,
    active: colors.cyan,
    phase: (phase, text = phase) => tones[lookOf(phase).tone](text),
    sign: (phase) => {
      const look = lookOf(phase);
      return tones[look.tone](options.unicode ? look.sign : look.ascii);
    },
  };
}
