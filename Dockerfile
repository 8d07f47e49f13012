# docker build --target check .           passes 'make test'
# docker build --tag glognn .             an image whose command is glognn, with the compiled core
# docker run --rm -v "$PWD:/data" glognn train --nodes nodes.csv --edges edges.csv --label COLUMN --out runs/first
FROM python:3.11-slim AS base
RUN apt-get update && apt-get install --yes --no-install-recommends g++ make nodejs && rm -rf /var/lib/apt/lists/*
WORKDIR /glognn
COPY . .

FROM base AS check
ENV CI=true
RUN apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver postgresql
RUN make test

FROM base AS wheel
RUN python -m pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.11-slim
COPY --from=wheel /wheels /wheels
COPY constraints.txt /wheels/
RUN python -m pip install --no-cache-dir --constraint /wheels/constraints.txt /wheels/*.whl
RUN useradd --create-home user && mkdir /data && chown user /data
USER user
WORKDIR /data
ENTRYPOINT ["glognn"]
CMD ["--help"]
