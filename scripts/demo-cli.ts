/** The command line as it is built, for the demo: a source that is edited meanwhile must not change it half-way. */
import { main } from '../client/cli/main.js';

await main(process);
