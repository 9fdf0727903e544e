// Runs the walk with @modelcontextprotocol/client, which negotiates the newest revision.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

import { walk } from './walk.mjs';

await walk({
  library: '@modelcontextprotocol/client',
  grants: ['authorization_code', 'refresh_token'],
  UnauthorizedError,
  connect: (url, authProvider) => ({
    client: new Client({ name: 'colaregistry-conformance', version: '2' }, { versionNegotiation: { mode: 'auto' } }),
    transport: new StreamableHTTPClientTransport(url, { authProvider }),
  }),
  finish: (transport, back) => transport.finishAuth(back),
});
