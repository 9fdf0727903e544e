// An OpenID Connect issuer for signing in to the dashboard. It has two clients: the dashboard, which is confidential, and
// an app, which gets access tokens for the resource. It accepts every user, with a verified email address.
//
//   node issuer.mjs ISSUER PORT DASHBOARD RESOURCE APP
//
// ISSUER: its URL. PORT: the local port to listen on. DASHBOARD: the public URL of the registry. RESOURCE: the audience of
// access tokens. APP: the redirect URI of the app.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import Provider, { errors } from 'oidc-provider';

const [issuer, port, dashboard, resource, app] = process.argv.slice(2);
const scopes = ['registry.read', 'saved_searches:write'];
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const addressOf = (subject) => ({ email: `${subject}@example.com`, email_verified: true });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'first' }] },
  cookies: { keys: ['test-cookie-key'] },
  scopes: ['openid', 'email', ...scopes],
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  clients: [
    {
      client_id: 'dashboard', client_secret: 'test-client-secret', redirect_uris: [`${dashboard}/sign-in/callback`],
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
      getResourceServerInfo(_, requested) {
        if (requested !== resource) throw new errors.InvalidTarget(`unknown resource ${requested}`);
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
