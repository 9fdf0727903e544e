# Build: docker build -t colaregistry .
# Run:   docker run -p 8080:8080 -v colaregistry-data:/data colaregistry
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/colaregistry ./cmd/colaregistry \
 && mkdir /out/data /out/secrets

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/colaregistry /colaregistry
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/secrets /secrets
USER 65532:65532
VOLUME /data
EXPOSE 8080
ENV COLAREGISTRY_DATA_DIR=/data COLAREGISTRY_LISTEN=0.0.0.0:8080 COLAREGISTRY_PUBLIC_URL=http://localhost:8080
ENTRYPOINT ["/colaregistry"]
CMD ["serve"]
