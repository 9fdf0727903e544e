package main

// The Help methods return the text that --help shows between the summary of a command and its
// flags. TestHelpExamples parses the indented examples.

// Help describes the command.
func (*serveCommand) Help() string {
	return `On first start, the server creates an SQLite database with demo data and a demo account.
On SIGTERM or Ctrl-C, the server finishes in-flight requests and exits; a second signal exits immediately.

Examples:

    colaregistry serve
    colaregistry serve --listen :8080 --public-url https://registry.example.com --demo never
    colaregistry serve --fetch --fetch-details all --fetch-contact ops@example.com
    colaregistry serve --database-url-file /etc/colaregistry/database-url --secret-key-file /etc/colaregistry/secret.key
`
}

// Help describes the command.
func (*mcpCommand) Help() string {
	return `Reads the API key from the environment variable COLAREGISTRY_API_KEY. Without --url, the database must be
on this machine or reachable from it.

Examples:

    COLAREGISTRY_API_KEY=lar_… colaregistry mcp
    COLAREGISTRY_API_KEY=lar_… colaregistry mcp --url https://registry.example.com
`
}

// Help describes the command.
func (*importCommand) Help() string {
	return `Accepts JSON, JSON lines, CSV (separated by commas, tabs, semicolons or vertical bars), GeoJSON, the files that TTB
publishes and saved pages of its Public COLA Registry. The format is detected automatically. You can also pass folders
and archives. A running server shows the rows within two seconds.

Invalid rows are skipped and reported by reason; --rejects writes all of them to a file. The exit code is 1 if rows
were rejected (unless --skip-invalid is set), or if a file is empty or can't be read; the remaining files are still
imported.

Examples:

    colaregistry import colas export.csv more.jsonl.gz
    colaregistry import colas pages/ pages.zip 24031001000007.html
    colaregistry import --rejects rejects.jsonl colas export.csv
    colaregistry import --dry-run permittees FRL_All_Permits.json
    colaregistry import production-reports Wine_monthly_data_csv.csv Wine_yearly_data_csv.csv
    colaregistry import processing-times cola_stats.xml
    colaregistry import formula-processing-times form_stats.csv
    colaregistry import --allow-empty colas today.csv
    colaregistry demo --colas 1000 | colaregistry import colas -
`
}

// Help describes the command.
func (*fetchTTB) Help() string {
	return `Searches TTB's registry day by day, imports the search results, and fetches the printable form of each label. Creates the
database if there is none. You can interrupt it at any time; to continue, run the same command again. You can run several
processes: they share the work and the rate limit.

Until its form is fetched, a label has no status or approval date. The exit code is 1 if days or labels are missing at
the end, and 3 if the site blocks the program. Don't restart it automatically after code 3.

Examples:

    colaregistry fetch ttb --from 2026-11-01 --contact ops@example.com
    colaregistry fetch ttb --from 2005-01-01 --to 2025-12-31 --details none --contact ops@example.com --dry-run
    colaregistry fetch ttb --follow --details all --contact https://registry.example.com/about
`
}

// Help describes the command.
func (*fetchReference) Help() string {
	return `Downloads files from TTB and UC Davis and imports those that have changed. If a source fails, the
others are still fetched, and the exit code is 1. Run the command daily or weekly.

--dry-run lists the sources and their addresses. If a publisher moves a file, set its new address with --source-url.

Examples:

    colaregistry fetch reference --contact ops@example.com
    colaregistry fetch reference --contact ops@example.com --dry-run
    colaregistry fetch reference --contact ops@example.com --source permits --source avas
    colaregistry fetch reference --contact ops@example.com --source-url avas=https://example.com/avas.geojson --source-url wine-yearly=
`
}

// Help describes the command.
func (*enrichCommand) Help() string {
	return `Sends labels with details to an AI model, newest first, and fills in their llm_ fields, except those with a value from
another source. Each label is sent once, and again only if its data, its image or the model changes. The command ends
when no labels are left or the daily limit is reached. You can interrupt it at any time; to continue, run the same
command again. You can run several processes: they share the work and the limits.

The labels' public data and, with --images, their main images are sent to the API. Using the API may cost money: start
with a small --limit and check the results.

Examples:

    colaregistry enrich --url https://api.openai.com/v1 --model gpt-5-mini --key-file /etc/colaregistry/openai-key --limit 20
    colaregistry enrich --url http://127.0.0.1:11434/v1 --model gemma3 --images --follow
`
}

// Help describes the command.
func (*fetchStatus) Help() string {
	return `The counts cover all processes. The time left is an estimate for the planned days and queued labels.

Examples:

    colaregistry fetch status
    colaregistry fetch status --json
`
}

// Help describes the command.
func (*fetchResume) Help() string {
	return `Clears the site's block and ends any pause in requests. Servers with --fetch continue within a minute, or once their
quiet hours end. Starting fetch ttb also clears a block, but doesn't end other pauses. Before you resume, wait a few
hours and lower the rate.

Example:

    colaregistry fetch resume
`
}

// Help describes the command.
func (*recordsList) Help() string {
	return `Lists TTB IDs, most recently received first. Details are missing if the label's status is unknown. Only TTB's
printable forms and detail pages have the status; its search export doesn't.

Examples:

    colaregistry records list --missing detail --limit 100
    colaregistry records list --missing detail --json
    colaregistry records list --missing images --count
`
}

// Help describes the command.
func (*alertsTick) Help() string {
	return `A server checks for due searches every five seconds. The exit code is 1 if a search fails.

Examples:

    colaregistry alerts tick
    colaregistry alerts tick --at 2026-11-23T06:00:00Z --webhook-allow-private
`
}

// Help describes the command.
func (*alertsReceive) Help() string {
	return `Answers challenges, verifies signatures and prints one line per message. To let the server send webhooks to
this machine, start it with --webhook-allow-private.

Examples:

    COLAREGISTRY_SECRET=whsec_… colaregistry alerts receive
    COLAREGISTRY_SECRET=whsec_… colaregistry alerts receive --count 2 --within 10m
`
}

// Help describes the command.
func (*accountCreate) Help() string {
	return `Creates the database if there is none. Prints the account in the format of account list.

Example:

    colaregistry account create --email ada@example.com --tier pro
`
}

// Help describes the command.
func (*accountList) Help() string {
	return `Examples:

    colaregistry account list
    colaregistry account list --json
`
}

// Help describes the command.
func (*accountLink) Help() string {
	return `Prints a one-time sign-in link for the dashboard. It expires after 15 minutes. Anyone with the link can use it.

Example:

    colaregistry account link --account ada@example.com --public-url https://registry.example.com
`
}

// Help describes the command.
func (*accountSetTier) Help() string {
	return `Fails if the account has an open Stripe subscription, which determines its tier.

Example:

    colaregistry account set-tier --account ada@example.com --tier starter
`
}

// Help describes the command.
func (*accountSetAlerts) Help() string {
	return `The oldest alerts up to the limit keep running; newer ones are put on hold.

Example:

    colaregistry account set-alerts --account ada@example.com --limit 3
`
}

// Help describes the command.
func (*accountSuspend) Help() string {
	return `Rejects the account's requests and puts its alerts on hold until you run account restore. No data is lost.

Example:

    colaregistry account suspend --account ada@example.com --reason "The October invoice is unpaid."
`
}

// Help describes the command.
func (*accountRestore) Help() string {
	return `The account's next alerts include labels missed during the suspension.

Example:

    colaregistry account restore --account ada@example.com
`
}

// Help describes the command.
func (*accountDelete) Help() string {
	return `Rejects the account's requests and puts its alerts on hold. After seven days, a running server deletes its data, except
usage totals, which are kept without a name or address. Until then, run account undelete to cancel; the account holder can
also cancel by signing in.

Example:

    colaregistry account delete --account ada@example.com
`
}

// Help describes the command.
func (*accountUndelete) Help() string {
	return `The account's next alerts include labels missed in the meantime.

Example:

    colaregistry account undelete --account ada@example.com
`
}

// Help describes the command.
func (*accountAddIdentity) Help() string {
	return `If the identity belongs to another account, it is moved to this one. The other account keeps its usage, saved searches,
keys and app links.

Example:

    colaregistry account add-identity --account ada@example.com --issuer https://issuer.example --subject "auth0|Xy"
`
}

// Help describes the command.
func (*accountIdentities) Help() string {
	return `Examples:

    colaregistry account identities
    colaregistry account identities --account ada@example.com
`
}

// Help describes the command.
func (*accountExport) Help() string {
	return `Prints one JSON object with everything stored about the account, except secrets, the labels that alerts
found, and the messages sent, which contain labels. Its last field is "complete": true.

Example:

    colaregistry account export --account ada@example.com
`
}

// Help describes the command.
func (*keyCreate) Help() string {
	return `Prints the key on standard output. It is shown only once.

Examples:

    export API_KEY=$(colaregistry key create --account ada@example.com --name laptop)
    colaregistry key create --account ada@example.com --name report --scope read --network 203.0.113.0/24
`
}

// Help describes the command.
func (*keyList) Help() string {
	return `Shows the first and last characters of each key. The last-used time can lag by a minute.

Examples:

    colaregistry key list
    colaregistry key list --account ada@example.com --json
`
}

// Help describes the command.
func (*keyRevoke) Help() string {
	return `Example:

    colaregistry key revoke 1
`
}

// Help describes the command.
func (*appRegister) Help() string {
	return `Registering an app again replaces its name and scopes, and enables it if it was disabled.

Example:

    colaregistry app register --issuer https://issuer.example --client-id app --name App --scope saved_searches:write
`
}

// Help describes the command.
func (*appList) Help() string {
	return `Example:

    colaregistry app list
`
}

// Help describes the command.
func (*appDisable) Help() string {
	return `To enable it again, use app register.

Example:

    colaregistry app disable 1
`
}

// Help describes the command.
func (*appLinks) Help() string {
	return `Examples:

    colaregistry app links
    colaregistry app links --account ada@example.com
`
}

// Help describes the command.
func (*appRevokeLink) Help() string {
	return `Example:

    colaregistry app revoke-link 1
`
}

// Help describes the command.
func (*appRestoreLink) Help() string {
	return `Example:

    colaregistry app restore-link 1
`
}

// Help describes the command.
func (*secretCreate) Help() string {
	return `Create it once, before you first start the server with PostgreSQL, and pass the same file to every process with
--secret-key-file. Back it up separately from the database.

Examples:

    colaregistry secret create /etc/colaregistry/secret.key
    colaregistry secret create --if-missing /etc/colaregistry/secret.key
`
}

// Help describes the command.
func (*secretRotate) Help() string {
	return `New secrets are encrypted under the new key; the other keys still decrypt existing ones. Distribute the file and restart
every process, then run secret reseal.

Example:

    colaregistry secret rotate /etc/colaregistry/secret.key
`
}

// Help describes the command.
func (*secretReseal) Help() string {
	return `The newest key is the first one in the key file. Afterward, the other keys can be removed; see secret status.

Examples:

    colaregistry secret reseal --secret-key-file /etc/colaregistry/secret.key
    colaregistry secret reseal --secret-key-file /etc/colaregistry/secret.key --forget-lost e62254c2
`
}

// Help describes the command.
func (*secretStatus) Help() string {
	return `The exit code is 1 if the key file lacks a key that is in use.

Example:

    colaregistry secret status --secret-key-file /etc/colaregistry/secret.key
`
}

// Help describes the command.
func (*demoCommand) Help() string {
	return `The same seed and date generate the same labels.

Examples:

    colaregistry demo --colas 100 --seed 7 --as-of 2026-01-31
    colaregistry demo --colas 1000000 | colaregistry import colas -
`
}

// Help describes the command.
func (*copyCommand) Help() string {
	return `Copies labels, reference data, accounts, keys, saved searches and usage, then compares the two databases. First
stop the servers that use the original; later writes are not copied.

Example:

    colaregistry copy --from sqlite:data/registry.db --to postgres://colaregistry@db.example.com/colaregistry
`
}

// Help describes the command.
func (*migrateCommand) Help() string {
	return `Starting the server also migrates the schema. Use this command to control when that happens.

Examples:

    colaregistry migrate --status
    colaregistry migrate
`
}

// Help describes the command.
func (*versionCommand) Help() string {
	return `Prints the version or commit, the Go release and the platform.

Example:

    colaregistry version
`
}
