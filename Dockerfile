# Kindex in a container:
#   docker build -t kindex:0.2.0 .
#   docker run -d --name kindex --read-only -p 127.0.0.1:4512:4512 \
#     -v kindex:/data kindex:0.2.0
#   docker exec kindex cat /data/token
# Every command here is a target of the Makefile, or a script that the Makefile
# runs as well.

FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /kindex
COPY Makefile ./
COPY deploy deploy
RUN make deps-build
COPY openapi.yaml README.md LICENSE ./
COPY src src
COPY api api
RUN make install DESTDIR=/installed PREFIX=/usr

FROM debian:12-slim AS image
COPY deploy/packages deploy/packages.sh deploy/image.sh /deploy/
RUN /deploy/image.sh && rm -r /deploy /var/lib/apt/lists/*
COPY --from=build /installed /
USER 10001:10001
VOLUME /data
# Inside a container every address is an outside one, so that an access token is
# needed; the first start makes one.
ENV KINDEX_DATA=/data KINDEX_LISTEN=0.0.0.0:4512
EXPOSE 4512
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD kindex ready --url "${KINDEX_URL:-http://127.0.0.1:${KINDEX_LISTEN##*:}}"
ENTRYPOINT ["kindex"]
CMD ["serve", "--token-file", "/data/token"]
