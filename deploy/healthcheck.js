/** Health check of a container without curl: succeeds when the process in it says that it is ready. */
import { get } from 'node:http';

const port = process.env.DROVER_HEALTH_PORT ?? '8081';
get(`http://127.0.0.1:${port}/readyz`, (response) => process.exit(response.statusCode === 200 ? 0 : 1)).on(
  'error',
  () => process.exit(1),
);
