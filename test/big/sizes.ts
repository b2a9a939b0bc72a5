/** How big: the sizes that the contract names, or smaller ones from the environment. */
function size(name: string, fallback: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`${name} is "${text}"; it takes a whole number above 0`);
}

export const SIZES = {
  /** Executions that are created at once. */
  executions: size('DROVER_BIG_EXECUTIONS', 5000),
  /** Plans, where executions share them. */
  plans: size('DROVER_BIG_PLANS', 500),
  /** Workflows that plans share. */
  workflows: size('DROVER_BIG_WORKFLOWS', 50),
  /** Stages of the longest run. */
  stages: size('DROVER_BIG_STAGES', 200),
  /** Actions of each of its stages. */
  actions: size('DROVER_BIG_ACTIONS', 10),
};

/** Tells a figure. */
export function tell(text: string): void {
  process.stderr.write(`[big] ${text}\n`);
}
