# The same image as `make image` writes without Docker, but with the authorities
# that Debian trusts. For both platforms:
#
#	docker buildx build --platform linux/amd64,linux/arm64 -t REPOSITORY/kraftside .
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -tags grpcnotrace,beside -ldflags "-s -w -buildid=" -o /kraftside ./cmd/sidecar
RUN mkdir /state /empty

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 --chmod=750 /state /var/lib/kraftside
COPY --from=build --chmod=1777 /empty /tmp
COPY --from=build /kraftside /kraftside
LABEL org.opencontainers.image.title="kraftside" \
      org.opencontainers.image.description="A sidecar beside every Apache Kafka broker that explains rebalances" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/kraftside/kraftside"
# Numbers, because there is no /etc/passwd, and Kubernetes has to see that it is not root.
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/kraftside"]
