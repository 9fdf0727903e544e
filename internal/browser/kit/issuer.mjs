// A real issuer that account holders sign in to the dashboard with. The dashboard is a confidential client of it; one app is another client, which
// gets access tokens for the resource. Whoever signs in is let in, with an address that counts as verified.
//
//   node issuer.mjs ISSUER PORT DASHBOARD RESOURCE APP
//
// ISSUER is the URL at which it is called, PORT of this machine the one it listens on, DASHBOARD the public URL of the registry, RESOURCE what access
// tokens are for, and APP the redirect URI of the app.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import Provider, { errors } from 'oidc-provider';

const [issuer, port, dashboard, resource, app] = process.argv.slice(2);
const scopes = ['registry.read', 'saved_searches:write'];
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const addressOf = (subject) => ({ email: `${subject}@example.com`, email_verified: true });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'first' }] },
  cookies: { keys: ['of no use to anybody'] },
  scopes: ['openid', 'email', ...scopes],
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  clients: [
    {
      client_id: 'dashboard', client_secret: 'of no use to anybody else', redirect_uris: [`${dashboard}/sign-in/callback`],
      post_logout_redirect_uris: [`${dashboard}/sign-in`],
    },
    { client_id: 'app', client_name: 'Label watcher', token_endpoint_auth_method: 'none', redirect_uris: [app] },
  ],
  findAccount: (_, subject) => ({ accountId: subject, claims: () => ({ sub: subject, ...addressOf(subject) }) }),
  extraTokenClaims: (_, token) => addressOf(token.accountId),
  ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 600, Session: 3600 },
  features: {
    devInteractions: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo(_, asked) {
        if (asked !== resource) throw new errors.InvalidTarget(`there is no resource ${asked}`);
        return { scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
});

provider.on('server_error', (_, error) => console.error(error));
const server = createServer(provider.callback());
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
