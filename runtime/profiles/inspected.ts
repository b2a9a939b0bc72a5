/** The threads of this process as Node's inspector reaches them from inside: no port of a debugger is opened. */
import { Session } from 'node:inspector';

/** A thread that can be asked in the words of the inspector's protocol. */
export interface InspectedThread {
  /** `main`, or `thread-<number>`. */
  name: string;
  post<T = unknown>(method: string, params?: object): Promise<T>;
}

/** Longest time that threads are given to say that they are there, in milliseconds. */
const ATTACH_MS = 500;

/** An answer of another thread. */
interface Answer {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/**
 * Works with the threads of this process. The worker runs workflow code in threads of its own.
 *
 * @param work is given the threads; what it began in them has to have ended when it returns
 */
export async function withThreads<T>(work: (threads: InspectedThread[]) => Promise<T>): Promise<T> {
  const session = new Session();
  session.connect();
  const post = <R>(method: string, params: object = {}): Promise<R> =>
    new Promise((resolve, reject) => {
      session.post(method, params, (error, result) => {
        if (error === null) resolve(result as R);
        else reject(new Error(`${method}: ${error.message}`));
      });
    });
  try {
    const others = await otherThreads(session, post);
    return await work([{ name: 'main', post }, ...others]);
  } finally {
    session.disconnect();
  }
}

async function otherThreads(
  session: Session,
  post: <R>(method: string, params?: object) => Promise<R>,
): Promise<InspectedThread[]> {
  const waiting = new Map<string, (answer: Answer) => void>();
  const threads: InspectedThread[] = [];
  let sent = 0;
  session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
    const answer = JSON.parse(message) as Answer;
    waiting.get(`${sessionId}/${answer.id ?? ''}`)?.(answer);
  });
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    threads.push({
      name: `thread-${workerInfo.workerId}`,
      post: <R>(method: string, params: object = {}) =>
        new Promise<R>((resolve, reject) => {
          sent += 1;
          const id = sent;
          const key = `${sessionId}/${id}`;
          waiting.set(key, ({ result, error }) => {
            waiting.delete(key);
            if (error === undefined) resolve(result as R);
            else reject(new Error(`${method}: ${error.message}`));
          });
          const message = JSON.stringify({ id, method, params });
          post('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(reject);
        }),
    });
  });
  await post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  await new Promise((resolve) => setTimeout(resolve, ATTACH_MS));
  return threads;
}
