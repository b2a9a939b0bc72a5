/**
 * The phases of many actions or stages in few characters. A condition over all of them, such as "nothing has failed so
 * far", stands in each of 2,000 actions: sent by name, their phases would fill a history with the square of that.
 */

const LETTERS: ReadonlyMap<string, string> = new Map([
  ['Pending', 'P'],
  ['Running', 'R'],
  ['Succeeded', 'S'],
  ['Failed', 'F'],
  ['Skipped', 'K'],
]);
const PHASES = new Map([...LETTERS].map(([phase, letter]) => [letter, phase]));
const RUN = /([A-Z]|"(?:[^"\\]|\\.)*")(\d*)/y;

/** Names and phases that take no more than this, in characters, are sent as they are: then nobody has to look names up. */
const PLAIN_CHARACTERS = 1024;
/** What a name costs beside its own length: its phase, quotes, a comma. */
const PLAIN_EACH = 16;

/** Whether phases of these names are sent by position rather than by name. */
export const arePacked = (names: readonly string[]): boolean =>
  names.reduce((sum, name) => sum + name.length + PLAIN_EACH, 0) > PLAIN_CHARACTERS;

/** Phases by position, as runs of equal ones: `S1200R1P799`. */
export function packPhases(phases: readonly string[]): string {
  let text = '';
  for (let at = 0; at < phases.length;) {
    const phase = phases[at] ?? '';
    let end = at + 1;
    while (end < phases.length && phases[end] === phase) end += 1;
    const length = end - at;
    text += (LETTERS.get(phase) ?? JSON.stringify(phase)) + (length === 1 ? '' : String(length));
    at = end;
  }
  return text;
}

/**
 * Phases by name.
 *
 * @param names in the order of the positions
 * @throws Error when the text is none of {@link packPhases}, or is of another number of phases
 */
export function unpackPhases(packed: string, names: readonly string[]): Record<string, string> {
  const phases: [string, string][] = [];
  const wrong = (): Error =>
    new Error(`packed phases ${JSON.stringify(packed.slice(0, 80))} do not fit ${names.length} names`);
  RUN.lastIndex = 0;
  while (RUN.lastIndex < packed.length) {
    const [, letter = '', count = ''] = RUN.exec(packed) ?? [];
    const phase = letter.startsWith('"') ? (JSON.parse(letter) as string) : PHASES.get(letter);
    const length = count === '' ? 1 : Number(count);
    if (phase === undefined || length === 0 || phases.length + length > names.length) throw wrong();
    for (let left = length; left > 0; left -= 1) phases.push([names[phases.length] ?? '', phase]);
  }
  if (phases.length !== names.length) throw wrong();
  return Object.fromEntries(phases);
}
