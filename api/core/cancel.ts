import { ANNOTATIONS } from './group.js';

/**
 * What the cancel annotation of an object asks for. `cancel`: its run stops in order. `terminate`: its run is ended without
 * being asked, as its own code cannot go on. `temporalLost`: the Temporal that its run is in will not come back; where that
 * is the one that is connected, it is an ordinary cancel.
 */
export type CancelAsked = 'cancel' | 'terminate' | 'temporalLost';

/** Values of the annotation, by what they ask for. */
export const CANCEL_VALUES = {
  cancel: 'true',
  terminate: 'terminate',
  temporalLost: 'temporal-lost',
} as const satisfies Record<CancelAsked, string>;

/** What the annotations of an object ask for; undefined where they ask for nothing that means anything. */
export function cancelAsked(
  annotations: Readonly<Record<string, string>> | undefined,
): CancelAsked | undefined {
  switch (annotations?.[ANNOTATIONS.cancel]) {
    case CANCEL_VALUES.cancel:
      return 'cancel';
    case CANCEL_VALUES.terminate:
      return 'terminate';
    case CANCEL_VALUES.temporalLost:
      return 'temporalLost';
    default:
      return undefined;
  }
}
