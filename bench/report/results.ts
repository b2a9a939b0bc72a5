/** What is kept of a measurement. */
import { readFile, writeFile } from 'node:fs/promises';
import type { Figure } from '../lib/figures.js';
import type { Load, Machine, Versions } from '../lib/machine.js';
import { median } from '../lib/statistics.js';

/** A figure over all repetitions. */
export interface Summary extends Omit<Figure, 'value'> {
  median: number;
  min: number;
  max: number;
  /** One a repetition, in order. */
  values: number[];
}

/** One scenario, over all its repetitions. */
export interface ScenarioResult {
  scenario: string;
  sizes: Record<string, number>;
  repetitions: number;
  figures: Summary[];
  notes: string[];
  load: Load;
  seconds: number;
}

/** A whole measurement: the content of the JSON file. */
export interface Results {
  format: 1;
  startedAt: string;
  /** Which controller. */
  peer: string;
  /** `ephemeral`, `durable`, or the server of somebody's own cluster. */
  setting: string;
  /** Environment of bridge and worker that was chosen. */
  env: Record<string, string>;
  versions: Versions;
  machine: Machine;
  scenarios: ScenarioResult[];
  /** What could not be measured, and why. */
  failures: { scenario: string; why: string }[];
}

/** Brings the figures of several repetitions together; one that some of them lack has fewer values. */
export function summarize(repetitions: readonly (readonly Figure[])[]): Summary[] {
  const byName = new Map<string, { figure: Figure; values: number[] }>();
  for (const figure of repetitions.flat()) {
    const known = byName.get(figure.name);
    if (known === undefined) byName.set(figure.name, { figure, values: [figure.value] });
    else known.values.push(figure.value);
  }
  return [...byName.values()].map(({ figure: { value: _, ...rest }, values }) => ({
    ...rest,
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    values,
  }));
}

/** Writes a measurement. */
export const writeResults = (path: string, results: Results): Promise<void> =>
  writeFile(path, `${JSON.stringify(results, undefined, 2)}\n`);

/** Reads an earlier one. @throws Error that says what is wrong with the file */
export async function readResults(path: string): Promise<Results> {
  let value: Results;
  try {
    value = JSON.parse(await readFile(path, 'utf8')) as Results;
  } catch (error) {
    throw new Error(`${path} cannot be compared with: ${(error as Error).message}`, { cause: error });
  }
  if (value?.format !== 1 || !Array.isArray(value.scenarios))
    throw new Error(
      `${path} is no measurement of this program (or of another version): give a file that --out wrote`,
    );
  return value;
}
