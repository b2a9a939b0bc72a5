/**
 * Loaded before a program (`node --import`), in place of `--enable-source-maps`: stack traces name the lines of Drover's
 * own sources, and the maps of what it takes most code from, the client of Kubernetes, are not kept in memory for that.
 */
import { isMainThread } from 'node:worker_threads';

// Threads are preloaded too, and those of workflows have no use for the client.
if (isMainThread) await import('@kubernetes/client-node');
process.setSourceMapsEnabled(true);
