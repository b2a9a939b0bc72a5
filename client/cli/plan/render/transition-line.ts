import type { Transition } from '../transitions.js';
import type { Style } from '../../core/render/style.js';
import { oneLine, padTo } from '../../core/render/text.js';

/** One transition in one line: time, what, phase, how long, note. */
export function transitionLine(transition: Transition, style: Style): string {
  const { time, level, path, phase, duration, note } = transition;
  const state = level === 'condition' ? style.warn(phase) : style.phase(phase);
  const words = [
    style.dim(time),
    padTo(`${style.dim(padTo(level, 9))} ${oneLine(path)}`, 56),
    padTo(duration === undefined || duration === '' ? state : `${state} in ${duration}`, 18),
    note === undefined ? '' : oneLine(note),
  ];
  return words.join('  ').trimEnd();
}
