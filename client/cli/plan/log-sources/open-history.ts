import type { LoadedDataConverter } from '@temporalio/common';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';

/**
 * Opens the encrypted payloads of a history, in place, as far as the keys of this command line reach: others stay
 * closed, so that a log is shown without them rather than not at all. Messages of failures come back from the
 * payload they were put into.
 */
export async function openHistory(history: object, converter: LoadedDataConverter): Promise<void> {
  if (converter.payloadCodecs.length === 0) return;
  const failures: Sealed[] = [];
  const payloads: Payload[] = [];
  visit(history, (value) => {
    if (isPayload(value)) payloads.push(value);
    if (isSealed(value)) failures.push(value);
  });
  await Promise.all(
    payloads.map(async (payload) => {
      try {
        let opened = [payload];
        for (const codec of [...converter.payloadCodecs].reverse()) opened = await codec.decode(opened);
        Object.assign(payload, { metadata: opened[0]?.metadata, data: opened[0]?.data });
      } catch {
        // Closed for this command line.
      }
    }),
  );
  for (const failure of failures) {
    try {
      const { message } = defaultPayloadConverter.fromPayload<{ message: string }>(failure.encodedAttributes);
      failure.message = message;
    } catch {
      // Closed for this command line.
    }
  }
}

interface Sealed {
  message?: string | null;
  encodedAttributes: Payload;
}

function visit(value: unknown, see: (object: object) => void): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  see(value);
  for (const inner of Object.values(value)) visit(inner, see);
}

const isPayload = (value: object): value is Payload =>
  'data' in value && 'metadata' in value && typeof value.metadata === 'object';

const isSealed = (value: object): value is Sealed =>
  'encodedAttributes' in value &&
  typeof value.encodedAttributes === 'object' &&
  value.encodedAttributes !== null;
