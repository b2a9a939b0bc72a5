/** What a request asks for, in the words of Kubernetes' RBAC. */
export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/** One request to an API server and its answer, as it is counted. */
export interface Exchange {
  verb: RequestVerb;
  /** Such as `pods`, `jobs.batch` or `pods/log`; `none` for what is about no resource, such as discovery and readiness. */
  resource: string;
  /** HTTP status; `unreachable` where there was no answer, `aborted` where nobody waited for it any more. */
  code: string;
  /** Time to the head of the answer. */
  seconds: number;
}

/** Called for every exchange, failed ones and repetitions included. */
export type OnExchange = (exchange: Exchange) => void;

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const;
/** Parts of a namespace itself: what follows any other name of a namespace is a resource in it. */
const OF_NAMESPACES: ReadonlySet<string | undefined> = new Set([undefined, 'status', 'finalize']);

/** As much of a request as says what it is about. */
interface Asked {
  method: 'GET' | keyof typeof VERBS;
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
}

/** What a request is about. Names of objects and of namespaces are left out. */
export function subjectOf({ method, path, query }: Asked): Pick<Exchange, 'verb' | 'resource'> {
  const [, root, ...parts] = path.split('/');
  const isGroup = root === 'apis';
  // `/api/v1/…` and `/apis/GROUP/VERSION/…`.
  const rest = isGroup ? parts.slice(2) : root === 'api' ? parts.slice(1) : [];
  const inside = rest[0] === 'namespaces' && !OF_NAMESPACES.has(rest[2]) ? rest.slice(2) : rest;
  const [plural = '', name, subresource] = inside;
  const group = isGroup ? `.${parts[0]}` : '';
  const part = subresource === undefined ? '' : `/${subresource}`;
  return {
    verb: method === 'GET' ? readOf(plural !== '' && name === undefined, query) : VERBS[method],
    resource: plural === '' ? 'none' : `${plural}${group}${part}`,
  };
}

function readOf(isOfMany: boolean, query: Asked['query']): RequestVerb {
  if (query?.watch === true || query?.watch === 'true') return 'watch';
  return isOfMany ? 'list' : 'get';
}
