// The walk by @modelcontextprotocol/sdk, which speaks the revisions with a handshake. It is given no refresh tokens: with one it would
// answer the demand for a scope by refreshing, which brings none.
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { walk } from './walk.mjs';

await walk({
  library: '@modelcontextprotocol/sdk',
  grants: ['authorization_code'],
  UnauthorizedError,
  connect: (url, authProvider) => ({
    client: new Client({ name: 'colaregistry-conformance', version: '1' }),
    transport: new StreamableHTTPClientTransport(url, { authProvider }),
  }),
  finish: (transport, back) => transport.finishAuth(back.get('code')),
});
