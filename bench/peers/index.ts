import { bcs } from './bcs.js';
import { drover } from './drover.js';
import { kubevela } from './kubevela.js';
import type { Peer } from './peer.js';

/** Controllers that can be measured. */
export const PEERS = ['drover', 'bcs', 'kubevela'] as const;
export type PeerName = (typeof PEERS)[number];

/** What the adapters are told. */
export interface PeerOptions {
  /** Drover: account that actions act as. */
  serviceAccount?: string;
  /** KubeVela: step definition of a call. */
  step?: string;
  stepNamespace?: string;
}

/** The adapter of a controller. */
export function peerOf(name: PeerName, options: PeerOptions): Peer {
  switch (name) {
    case 'drover':
      return drover(options);
    case 'bcs':
      return bcs();
    case 'kubevela':
      return kubevela(options);
  }
}
