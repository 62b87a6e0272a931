# The fake OAuth providers, for tests. Without CHATKEY_LAB_TOKEN, the lab is off.
FROM python:3.13-slim
# The version to install, such as 0.1.0. The default is the newest.
ARG VERSION=
RUN pip install --no-cache-dir "chatkey${VERSION:+==$VERSION}" && useradd --system chatkey
USER chatkey
EXPOSE 9911
ENTRYPOINT ["chatkey", "fake-oauth", "--host", "0.0.0.0"]
