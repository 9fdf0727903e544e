package reference

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/colaregistry/colaregistry/ingest"
)

// Source is a file that is published at one address and replaced from time to time.
type Source struct {
	Name string // identifies the source in the store
	Kind ingest.Kind
	URL  string // empty if the source isn't fetched
	Page string // web page where its publisher links to the file
}

// Addresses of the files and of the pages that link to them. TTB keeps the address of a file that
// it replaces, except that new reports appear under the month of their publication.
const (
	permitFiles     = "https://www.ttb.gov/system/files/2025-04/"
	statisticsFiles = "https://www.ttb.gov/system/files/2024-08/"
	producersFiles  = "https://www.ttb.gov/system/files/2025-06/"
	timesFiles      = "https://www.ttb.gov/images/foia/"

	permitsPage   = "https://www.ttb.gov/public-information/foia/list-of-permittees"
	dataPage      = "https://www.ttb.gov/data"
	originalsPage = "https://www.ttb.gov/nrc/statistics-original-applications-to-operate"

	avaFiles = "https://raw.githubusercontent.com/UCDavisLibrary/ava/master/avas_aggregated_files/"
	avaPage  = "https://github.com/UCDavisLibrary/ava"
)

// Sources returns all sources with their default addresses (docs/DATA.md, "Reference data"), in the
// order in which Run fetches them. Sources without an address have no known file that package
// ingest can read.
func Sources() []Source {
	return []Source{
		{"permits", ingest.Permittees, permitFiles + "FRL_All_Permits.json", permitsPage},
		{"cola-times", ingest.ProcessingTimes, timesFiles + "cola_stats.xml", dataPage},
		{"formula-times", ingest.FormulaProcessingTimes, timesFiles + "form_stats.csv", dataPage},
		{"registration-times", ingest.RegistrationProcessingTimes, "", originalsPage},
		{"wine-monthly", ingest.ProductionReports, statisticsFiles + "Wine_monthly_data_csv.csv", dataPage},
		{"wine-yearly", ingest.ProductionReports, statisticsFiles + "Wine_yearly_data_csv.csv", dataPage},
		{"spirits-monthly", ingest.ProductionReports, statisticsFiles + "Distilled_Spirits_monthly_data_csv.csv", dataPage},
		{"spirits-yearly", ingest.ProductionReports, statisticsFiles + "Distilled_Spirits_yearly_data_csv.csv", dataPage},
		{
			"spirits-producers", ingest.ProductionReports,
			producersFiles + "2012-2024_Report_DistillersProduction_13-JUN-2025_JSON.json", dataPage,
		},
		{"beer-monthly", ingest.ProductionReports, "", dataPage},
		{"beer-yearly", ingest.ProductionReports, "", dataPage},
		{"avas", ingest.AVAs, avaFiles + "avas_allboundaries.geojson", avaPage},
	}
}

// CheckURL checks the address of a source.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return fmt.Errorf("%q is not an http or https URL", address)
	case u.User != nil:
		return errors.New("the URL must not contain a user name or password, because reports show the URL")
	}
	return nil
}

// fileName returns the name of a source's file for messages: its URL without the query, which may
// be long. Package ingest finds the commodity of some reports in this name.
func (s Source) fileName() string {
	name, _, _ := strings.Cut(s.URL, "?")
	return name
}

// option names the option that sets the address of the source.
func (s Source) option() string { return "source-url " + s.Name + "=URL" }
