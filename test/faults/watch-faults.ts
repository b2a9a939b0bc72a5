import type { IncomingMessage, ServerResponse } from 'node:http';

/** What goes wrong with a watch. */
export type WatchFault =
  /** The connection breaks. */
  | { kind: 'drop' }
  /** The connection breaks as the next event is under way. */
  | { kind: 'lose' }
  /** The next event never arrives and nobody can know: what follows does arrive. */
  | { kind: 'swallow' }
  /** The server says that the version is too old: everything has to be listed again. */
  | { kind: 'expire' }
  /** Events arrive so much later: whoever reads its cache reads the past. */
  | { kind: 'lag'; ms: number };

/**
 * Passes a watch on, line by line.
 *
 * @returns by which it can be struck
 */
export function tamperWatch(
  from: IncomingMessage,
  to: ServerResponse,
  path: string,
): (fault: WatchFault) => void {
  let lagUntil = 0;
  let lagMs = 0;
  let isLosing = false;
  let isSwallowing = false;
  let rest = '';
  let order: Promise<void> = Promise.resolve();

  const send = (line: string): void => {
    if (isLosing && !line.includes('"BOOKMARK"')) {
      isLosing = false;
      to.destroy();
      return;
    }
    if (isSwallowing && !line.includes('"BOOKMARK"')) {
      isSwallowing = false;
      return;
    }
    const wait = Date.now() < lagUntil ? lagMs : 0;
    // Late, but in order.
    order = order
      .then(() => (wait === 0 ? undefined : sleep(wait)))
      .then(() => {
        if (!to.destroyed) to.write(`${line}\n`);
      });
  };
  from.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') send(line);
  });
  const end = (): void => {
    void order.then(() => to.destroy());
  };
  from.on('end', () => {
    void order.then(() => to.end());
  });
  from.on('error', end);
  from.on('close', () => {
    if (!from.complete) end();
  });

  return (fault) => {
    switch (fault.kind) {
      case 'drop':
        to.destroy();
        return;
      case 'lose':
        isLosing = true;
        return;
      case 'swallow':
        isSwallowing = true;
        return;
      case 'expire':
        to.write(
          `${JSON.stringify({
            type: 'ERROR',
            object: {
              apiVersion: 'v1',
              kind: 'Status',
              status: 'Failure',
              code: 410,
              reason: 'Expired',
              message: `too old resource version of ${path} (a fault was injected)`,
            },
          })}\n`,
        );
        to.end();
        return;
      case 'lag':
        lagMs = fault.ms;
        lagUntil = Date.now() + fault.ms * 3;
    }
  };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
