/** Runs before every test file. */
import { renewServers } from './servers.js';

await renewServers();
