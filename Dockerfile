# Build: docker build --tag colaregistry .
# Run:   docker run --publish 8080:8080 --volume colaregistry-data:/data --read-only --cap-drop ALL \
#          --security-opt no-new-privileges --memory 4g colaregistry
#
# Tags name exact versions. Pin a digest next to the tag and update them together (docs/OPERATIONS.md, "Containers").
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/colaregistry ./cmd/colaregistry \
 && mkdir /out/data /out/keys

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/colaregistry /colaregistry
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/keys /keys
USER 65532:65532
VOLUME /data
EXPOSE 8080
# SQLite needs a writable directory for temporary files.
ENV SQLITE_TMPDIR=/data
ENV COLAREGISTRY_DATA_DIR=/data COLAREGISTRY_LISTEN=0.0.0.0:8080 COLAREGISTRY_PUBLIC_URL=http://localhost:8080
ENTRYPOINT ["/colaregistry"]
CMD ["serve"]
